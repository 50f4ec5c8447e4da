"""The MLIR environment."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.datasets import (
    AnyBenchmark,
    Benchmark,
    BenchmarkUri,
    Dataset,
    Datasets,
    FilesDataset,
)
from compiler_gym.datasets.uri import uri_of_file
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.service.program_env import ProgramEnv
from compiler_gym.service.proto import ActionSpace, File, py_converters
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.spaces import Commandline, CommandlineFlag, Reward
from compiler_gym.spaces.named_discrete import not_in_space
from compiler_gym.util.runfiles_path import find_service_binary, find_service_file, runfiles_path
from compiler_gym.views import ObservationView

# The datasets of the MLIR environment.


class KernelsDataset(FilesDataset):
    """The built-in kernels."""

    def __init__(self) -> None:
        super().__init__(
            name="benchmark://mlir-kernels-v0",
            description="Matrix products, convolutions, stencils and reductions in MLIR",
            license="MIT",
            source="built in",
            dataset_root=runfiles_path("compiler_gym/data/mlir-kernels-v0"),
            benchmark_file_suffix=".mlir",
            validatable="Yes",
            runnable="Yes",
        )

    @override
    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. The results of the kernel can be validated."""
        benchmark = super().benchmark_from_parsed_uri(uri)
        benchmark.add_validation_callback(compare_with_start)
        return benchmark


def compare_with_start(env: Any) -> Iterator[ValidationError]:
    """A validation callback: the kernel computes the same results as before any action.

    Yields:
        What goes wrong otherwise, e.g. the first element that is different.
    """
    try:
        _ = env.observation["Runtime"]
    except (ServiceError, TimeoutError) as error:
        yield ValidationError("Wrong results", {"error": str(error)})


def get_mlir_datasets() -> Iterator[Dataset]:
    """Makes the datasets: the built-in kernels."""
    yield KernelsDataset()


# The action space of the MLIR environment: passes, and the command lines of ``mlir-opt``.

_MLIR_OPT = re.compile(r"mlir-opt(-\d+)?")
_PIPELINE_OPTION = "-pass-pipeline="
_MODULE = re.compile(r"builtin\.module\((.*)\)", re.DOTALL)
_PRELOAD = "transform-preload-library"
_INTERPRETER = "transform-interpreter"


class MlirCommandline(Commandline):
    """The integers 0 to n - 1, each of them one pass of MLIR.

    The flag of an action is the pass in the words of ``mlir-opt -pass-pipeline``.

    Args:
        items: The actions.
        name: The name of the space.
        library: The file with the transforms that actions call.
        seed: Of random actions.
    """

    def __init__(
        self,
        items: Iterable[CommandlineFlag],
        name: str | None = None,
        library: Path | str = "mlir-library.mlir",
        seed: int | np.random.Generator | None = None,
    ):
        super().__init__(items, name=name, prefix="mlir-opt-22", suffix="kernel.mlir", seed=seed)
        self._library = library

    @override
    def with_items(self, items: Iterable[CommandlineFlag], name: str | None) -> "MlirCommandline":
        return type(self)(items, name=name, library=self._library)

    @override
    def to_string(self, values: int | Iterable[int]) -> str:
        """Returns the command line of mlir-opt that is equivalent to a list of actions.

        It reads ``kernel.mlir``, the program of the benchmark, and prints what the observation
        ``Ir`` is after the actions.

        Raises:
            IndexError: If a value is not in the space.
        """
        passes = [self.flags[value] for value in self._checked_list(values)]
        if any(each.startswith(_INTERPRETER) for each in passes):
            passes.insert(0, f"{_PRELOAD}{{transform-library-paths={self._library}}}")
        pipeline = f"{_PIPELINE_OPTION}builtin.module({','.join(passes)})"
        return f"{self.prefix} {shlex.quote(pipeline)} {self.suffix}"

    @override
    def from_string(self, text: str) -> list[int]:
        """Returns the actions of a command line of mlir-opt: undoes :meth:`to_string`.

        Understands any path of mlir-opt and of the library, any name of the file, the pipeline
        alone, and names of actions.

        Raises:
            UnknownNameError: If a part of it is not an action. The text names similar ones.
            ValueError: If quotes or brackets do not match.
        """
        words = shlex.split(text)
        if words and _MLIR_OPT.fullmatch(words[0].rpartition("/")[2]):
            words = [word for word in words[1:] if not word.endswith(".mlir")]
        actions: list[int] = []
        for word in words:
            for element in _elements(word.lstrip("-").removeprefix(_PIPELINE_OPTION[1:])):
                if not element.startswith(_PRELOAD):
                    actions.append(self._action_of(element))
        return actions

    def _action_of(self, element: str) -> int:
        if element not in self._indices:
            raise not_in_space(element, self.name, [*self.names, *self.flags])
        return self._indices[element]


def _elements(text: str) -> Iterator[str]:
    """Yields the passes of a pipeline. Raises ValueError if brackets do not match."""
    module = _MODULE.fullmatch(text)
    text = module[1] if module else text
    depth = begin = 0
    for i, character in enumerate(text):
        depth += (character in "({<") - (character in ")}>")
        if depth < 0:
            break
        if character == "," and depth == 0:
            yield text[begin:i]
            begin = i + 1
    if depth != 0:
        raise ValueError(f"Brackets do not match in {text!r}")
    if text[begin:]:
        yield text[begin:]


class SpeedUpReward(Reward):
    """By how much a step raises the speed-up, which is 1 when an episode begins.

    The speed-up is the median of ``RuntimeOfStart`` divided by that of ``Runtime``; the former is
    measured with the first step of an episode. The rewards of an episode add up to its speed-up
    less 1.
    """

    def __init__(self) -> None:
        super().__init__(
            name="SpeedUp",
            observation_spaces=["Runtime"],
            default_value=0,
            default_negates_returns=True,
            deterministic=False,
            platform_dependent=True,
        )
        self.starting_runtime: float | None = None
        self.previous_speedup = 1.0

    def reset(self, benchmark: Benchmark, observation_view: ObservationView) -> None:
        """Starts an episode."""
        del benchmark, observation_view
        self.starting_runtime = None
        self.previous_speedup = 1.0

    def update(
        self,
        actions: Sequence[Any],
        observations: Sequence[Any],
        observation_view: ObservationView,
    ) -> float:
        """Returns the reward of a step.

        Args:
            actions: The actions of the step.
            observations: Seconds of runs after the step, as the only element.
            observation_view: Where the time at the start is asked for.

        Raises:
            ServiceError: If that cannot be measured.
        """
        del actions
        if self.starting_runtime is None:
            self.starting_runtime = float(np.median(observation_view["RuntimeOfStart"]))
        speedup = self.starting_runtime / float(np.median(observations[0]))
        reward = speedup - self.previous_speedup
        self.previous_speedup = speedup
        return reward


def make_mlir_rewards() -> list[Reward]:
    """Makes the rewards."""
    return [SpeedUpReward()]


DEFAULT_BENCHMARK = "benchmark://mlir-kernels-v0/matmul-256"

_PACKAGE = "mlir_service"
_LIBRARY = "mlir-library.mlir"


class MlirEnv(ProgramEnv):
    """The loops of one kernel are transformed by MLIR, and the kernel is run and measured.

    Args:
        service: The path of a service, or the address ``"host:port"`` of a running one; by default
            the one that is built with this package.
        benchmark: The benchmark to use while none is chosen explicitly; by default
            :data:`DEFAULT_BENCHMARK`.
        datasets: The datasets to choose benchmarks from, by default those of
            :func:`get_mlir_datasets`.
        rewards: The rewards to choose from, by default those of :func:`make_mlir_rewards`.
        **kwargs: Arguments of :class:`ClientServiceCompilerEnv`.

    Raises:
        EnvironmentNotSupported: If the service has not been built, or this machine lacks MLIR.
        ServiceInitError: If the service does not start.
    """

    _parameter_prefix = "mlir"
    _runtime_warmup_runs_count = 1

    if TYPE_CHECKING:  # At run time it is that of the base class.

        @property
        def action_space(self) -> MlirCommandline:
            """The actions that can follow, a space of passes by name."""

        @action_space.setter
        def action_space(self, space: str | Space[Any] | None) -> None: ...

    def __init__(
        self,
        service: str | Path | None = None,
        benchmark: AnyBenchmark | None = None,
        *,
        datasets: Datasets | Iterable[Dataset] | None = None,
        rewards: Iterable[Reward] | None = None,
        **kwargs: Any,
    ):
        if service is None:
            service = find_service_binary("compiler_gym-mlir-service", _PACKAGE)
        super().__init__(
            service=service,
            benchmark=DEFAULT_BENCHMARK if benchmark is None else benchmark,
            datasets=get_mlir_datasets() if datasets is None else datasets,
            rewards=make_mlir_rewards() if rewards is None else rewards,
            service_message_converters=ServiceMessageConverters(
                action_space_converter=_make_action_space
            ),
            **kwargs,
        )

    def make_benchmark(self, path: str | Path) -> Benchmark:
        """Makes a benchmark of a file with a kernel in the textual form of MLIR.

        Raises:
            OSError: If the file cannot be read.
        """
        path = Path(path).expanduser().absolute()
        program = File(contents=path.read_bytes())
        proto = BenchmarkProto(uri=uri_of_file(path), program=program)
        return Benchmark(proto, validation_callbacks=[compare_with_start])


def _make_action_space(proto: ActionSpace) -> MlirCommandline:
    space: Any = py_converters.space_from_proto(proto.space, proto.name)
    items = zip(space.names, space.flags, space.descriptions, strict=True)
    library = find_service_file(_LIBRARY, _PACKAGE) or _LIBRARY
    return MlirCommandline([CommandlineFlag(*item) for item in items], space.name, library)
