"""Run commands and validation of the cBench programs.

The commands come from cBench's lists of inputs (Fursin et al., cTuning.org), one for each input of
a program. Validation compares the output and files of a program with those of its unoptimised
version.
"""

import json
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkUri
from compiler_gym.datasets.benchmark import ValidationCallback
from compiler_gym.datasets.tar_dataset import TarDataset
from compiler_gym.datasets.uri import run_number
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.errors import DatasetInitError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.util.runfiles_path import site_data_path

# The programs read the number of their repetitions from this file.
_REPEAT_ONCE = "echo 1 > _finfo_dataset"
_TIMEOUT_SECONDS = 300
_PREFIX = "benchmark://cbench-v1/"
_ALL_INPUTS = tuple(range(1, 21))


@dataclass(frozen=True)
class Recipe:
    """The run command of a program.

    Attributes:
        name: The name of the program in its URI.
        run: A command for a shell, in an empty folder that has the program as ``a.out``.
            ``{data}`` is the folder of the inputs, ``{input}`` one of :attr:`inputs`.
        inputs: The numbers of the inputs.
        files: The names of the files that the program writes.
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
    """The archive of the inputs of all programs.

    Args:
        site_data_base: The folder for downloads.
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
        """The folder with a subfolder for each kind of input; None if the download fails.

        The inputs are downloaded on first use. A failure is logged once.
        """
        try:
            return self.installed_folder()
        except DatasetInitError as error:
            warnings.warn(
                f"The programs of cBench cannot be run or validated without their inputs: {error}",
                stacklevel=2,
            )
            return None

    def installed_folder(self) -> Path:
        """Returns the folder, after downloading the inputs if necessary.

        Raises:
            DatasetInitError: The download fails.
        """
        self.install()
        for path in sorted(self.dataset_root.rglob(self._KNOWN_FOLDER)):
            return path.parent
        raise DatasetInitError(f"There is no folder {self._KNOWN_FOLDER} in {self.dataset_root}")


def with_recipe(benchmark: Benchmark, uri: BenchmarkUri, inputs: CBenchInputs) -> Benchmark:
    """Adds run commands and validation to a program of cBench, if there are a recipe and inputs.

    Args:
        benchmark: The program.
        uri: The URI of the program. The parameter ``dataset`` selects one run by its number from 0.
            Only this run is then measured and validated.
        inputs: The inputs.

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
    measured = recipe.commands(data)[number]
    config = make_program_config(measured, pre_run=[_REPEAT_ONCE], timeout=_TIMEOUT_SECONDS)
    return Benchmark(
        BenchmarkProto(uri=str(uri), program=benchmark.proto.program, dynamic_config=config),
        validation_callbacks=_validators(
            recipe, data, [number] if "dataset" in uri.params else range(len(recipe.inputs))
        ),
    )


def _validators(recipe: Recipe, data: Path, runs: Iterable[int]) -> list[ValidationCallback]:
    commands = recipe.commands(data)
    validated = [f"{_REPEAT_ONCE}; {commands[number]}" for number in runs]
    reference = ReferenceValidator(LIBRARIES, _TIMEOUT_SECONDS, validated, recipe.files)
    return [validate_against_opt, reference]


class _Validators(Mapping[str, list[ValidationCallback]]):
    """The validation callbacks of each program, with all inputs, by URI.

    A lookup downloads the inputs if necessary, and raises DatasetInitError if that fails.
    """

    def __getitem__(self, uri: str) -> list[ValidationCallback]:
        if not uri.startswith(_PREFIX):
            raise KeyError(uri)
        recipe = cbench_recipes()[uri.removeprefix(_PREFIX)]
        data = CBenchInputs(site_data_path()).installed_folder()
        return _validators(recipe, data, range(len(recipe.inputs)))

    def __iter__(self) -> Iterator[str]:
        return (f"{_PREFIX}{name}" for name in cbench_recipes())

    def __len__(self) -> int:
        return len(cbench_recipes())


VALIDATORS: Mapping[str, list[ValidationCallback]] = _Validators()
"""The validation callbacks of the programs of cBench, by URI."""
