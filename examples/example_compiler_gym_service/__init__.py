"""Environments of a compiler of one's own: `example-py-v0`, and `example-cc-v0` in C++.

To import this package makes their ids known to `compiler_gym.make()` and `gymnasium.make()`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset
from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.spaces import Reward
from compiler_gym.util.registration import register
from compiler_gym.util.runfiles_path import find_service_binary

PY_SERVICE = Path(__file__).parent / "service_py" / "example_service.py"

PROGRAMS = {
    "foo": "add 1\nmul 2\nadd 3\nmul 4\nadd 5\n",
    "bar": "mul 3\nadd 0\nmul 1\nadd 2\nadd -2\nmul 7\n",
}


class ExampleDataset(Dataset):
    """The programs of :data:`PROGRAMS`."""

    def __init__(self) -> None:
        super().__init__(
            name="benchmark://example-compiler-v0",
            description="Programs that add and multiply",
            license="MIT",
        )

    @property
    def size(self) -> int:
        """The number of programs."""
        return len(PROGRAMS)

    def benchmark_uris(self) -> Iterator[str]:
        """Yields the URIs of all programs."""
        return (f"{self.name}/{name}" for name in PROGRAMS)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Makes a benchmark. Raises ``LookupError`` if there is no such program."""
        name = uri.path.strip("/")
        if name not in PROGRAMS:
            raise LookupError(f"There is no program {name}; there are {', '.join(PROGRAMS)}")
        return Benchmark.from_file_contents(str(uri), PROGRAMS[name].encode())


class CyclesReward(Reward):
    """The cycles of the program's run time that a step saves."""

    def __init__(self) -> None:
        super().__init__(
            name="runtime",
            observation_spaces=["runtime"],
            default_negates_returns=True,
            deterministic=True,
            platform_dependent=False,
        )
        self.cycles = 0.0

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Takes note of the run time at the beginning."""
        self.cycles = observation_view["runtime"]

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Compares with the run time of the step before."""
        before, self.cycles = self.cycles, observations[0]
        return before - self.cycles


class ExampleEnv(ClientServiceCompilerEnv):
    """An environment of the example compiler.

    Args:
        service: The service, in either language.
        arguments: Same as in :class:`ClientServiceCompilerEnv`.
    """

    def __init__(self, service: str | Path = PY_SERVICE, **arguments: Any):
        defaults = {
            "datasets": [ExampleDataset()],
            "rewards": [CyclesReward()],
            "benchmark": "benchmark://example-compiler-v0/foo",
        }
        super().__init__(service, **{**defaults, **arguments})


def make_example_cc_env(**arguments: Any) -> ExampleEnv:
    """Makes an environment of the compiler in C++."""
    folder = "examples/example_compiler_gym_service/service_cc"
    return ExampleEnv(find_service_binary("example_service", folder), **arguments)


SPACES = {"observation_space": "features", "reward_space": "runtime"}
register("example-py-v0", entry_point=f"{__name__}:ExampleEnv", kwargs=SPACES)
register("example-cc-v0", entry_point=f"{__name__}:make_example_cc_env", kwargs=SPACES)
