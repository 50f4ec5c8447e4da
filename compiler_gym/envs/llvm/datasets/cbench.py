"""How the programs of cBench are run and validated.

The commands are those of cBench's own lists of inputs (Fursin et al., cTuning.org), one command for
each of the inputs of a program. The programs are validated by comparing what they print and write
with what they do when they are not optimised.
"""

import json
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkUri
from compiler_gym.datasets.tar_dataset import TarDataset
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.envs.llvm.datasets.run_number import run_number
from compiler_gym.errors import DatasetInitError
from compiler_gym.service.proto import Benchmark as BenchmarkProto

# The programs read there how often they shall do their work.
_REPEAT_ONCE = "echo 1 > _finfo_dataset"
_TIMEOUT_SECONDS = 300
_ALL_INPUTS = tuple(range(1, 21))


@dataclass(frozen=True)
class Recipe:
    """How a program is run.

    Attributes:
        name: The program, as in its URI.
        run: A command for a shell, in an empty folder that has the program as ``a.out``.
            ``{data}`` is the folder of the inputs, ``{input}`` one of :attr:`inputs`.
        inputs: The numbers of the inputs.
        files: The names of the files that it writes.
    """

    name: str
    run: str
    inputs: Sequence[int] = _ALL_INPUTS
    files: Sequence[str] = ()

    def commands(self, data: Path) -> list[str]:
        """Returns a command for each input."""
        folder = shlex.quote(str(data))
        return [self.run.format(data=folder, input=number) for number in self.inputs]


@cache
def cbench_recipes() -> dict[str, Recipe]:
    """Returns the entries of ``cbench.json`` by the name of the program."""
    text = files(__package__).joinpath("cbench.json").read_text(encoding="utf-8")
    return {entry["name"]: Recipe(**entry) for entry in json.loads(text)}


class CBenchInputs(TarDataset):
    """The inputs of the programs: an archive of its own, which is no dataset of programs.

    Args:
        site_data_base: The folder below which they are kept.
    """

    URLS = ("https://dl.fbaipublicfiles.com/compiler_gym/cBench-v0-runtime-data.tar.bz2",)
    SHA256 = "a1b5b5d6b115e5809ccaefc2134434494271d184da67e2ee43d7f84d07329055"
    _KNOWN_FOLDER = "office_data"

    def __init__(self, site_data_base: str | Path):
        super().__init__(
            name="benchmark://cbenchinputs-v0",
            description="Inputs of the programs of cBench",
            license="BSD 3-Clause",
            site_data_base=site_data_base,
            tar_urls=self.URLS,
            tar_sha256=self.SHA256,
        )

    @cached_property
    def folder(self) -> Path | None:
        """The folder that has those of each kind in one of its folders.

        They are downloaded if need be. If that fails, it is said once, and this is None.
        """
        try:
            self.install()
            return self._found()
        except DatasetInitError as error:
            warnings.warn(
                f"The programs of cBench cannot be run or validated without their inputs: {error}",
                stacklevel=2,
            )
            return None

    def _found(self) -> Path:
        for path in sorted(self.dataset_root.rglob(self._KNOWN_FOLDER)):
            return path.parent
        raise DatasetInitError(f"There is no folder {self._KNOWN_FOLDER} in {self.dataset_root}")


def with_recipe(benchmark: Benchmark, uri: BenchmarkUri, inputs: CBenchInputs) -> Benchmark:
    """Makes a program of cBench runnable and validatable, if there is a recipe and its inputs.

    Args:
        benchmark: The program.
        uri: Its URI. The parameter ``dataset`` selects the run that is measured, by its number
            from 0 on, and then this is the only one that is validated.
        inputs: Where the inputs are.

    Raises:
        ValueError: The parameter is out of range.
    """
    recipe = cbench_recipes().get(uri.path.removeprefix("/"))
    if recipe is None:
        return benchmark
    number = run_number(uri, len(recipe.inputs))
    data = inputs.folder
    if data is None:
        return benchmark
    commands = recipe.commands(data)
    measured = commands[number]
    validated = [f"{_REPEAT_ONCE}; {command}" for command in commands]
    if "dataset" in uri.params:
        validated = [validated[number]]
    config = make_program_config(measured, pre_run=[_REPEAT_ONCE], timeout=_TIMEOUT_SECONDS)
    return Benchmark(
        BenchmarkProto(uri=str(uri), program=benchmark.proto.program, dynamic_config=config),
        validation_callbacks=[
            validate_against_opt,
            ReferenceValidator(LIBRARIES, _TIMEOUT_SECONDS, validated, recipe.files),
        ],
    )
