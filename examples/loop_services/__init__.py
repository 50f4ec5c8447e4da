"""Environments of loops: `unrolling-py-v0` and `loops-opt-py-v0`.

To import this package makes their ids known to `compiler_gym.make()` and `gymnasium.make()`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset
from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.spaces import Reward
from compiler_gym.util.registration import register

FOLDER = Path(__file__).parent

_MAIN = """
#include <stdio.h>
{function}
static float a[{n}], b[{n}];
int main(void) {{
  for (int i = 0; i < {n}; i++) a[i] = i % 7, b[i] = i % 5;
  float sum = 0;
  for (int k = 0; k < 200; k++) sum += work(a, b, {n});
  printf("%g\\n", sum);
}}
"""
PROGRAMS = {
    "add": "float work(float* a, const float* b, int n) {\n"
    "  for (int i = 0; i < n; i++) a[i] = a[i] * 0.5f + b[i];\n  return a[n - 1];\n}",
    "offsets": "float work(float* a, const float* b, int n) {\n  float s = 0;\n"
    "  for (int i = 2; i < n; i++) s += b[i - 2] * a[i] - a[i - 1];\n  return s;\n}",
}


class LoopDataset(Dataset):
    """The programs of :data:`PROGRAMS`."""

    def __init__(self) -> None:
        super().__init__(
            name="benchmark://loops-v0", description="Programs with a loop", license="MIT"
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
        source = _MAIN.format(function=PROGRAMS[name], n=10_000)
        return Benchmark.from_file_contents(str(uri), source.encode())


class SavedReward(Reward):
    """The decrease of an observation in a step."""

    def __init__(self, observation: str, deterministic: bool):
        super().__init__(
            name=observation,
            observation_spaces=[observation],
            default_negates_returns=True,
            deterministic=deterministic,
            platform_dependent=True,
        )
        self.before = 0.0

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Takes note of what there is at the beginning."""
        self.before = observation_view[self.name]

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Compares with the step before."""
        before, self.before = self.before, observations[0]
        return before - self.before


class LoopEnv(ClientServiceCompilerEnv):
    """An environment of one of the services here.

    Args:
        service: The service.
        arguments: Same as in :class:`ClientServiceCompilerEnv`.
    """

    def __init__(self, service: str | Path, **arguments: Any):
        defaults = {
            "datasets": [LoopDataset()],
            "rewards": [SavedReward("size", True), SavedReward("runtime", False)],
            "benchmark": "benchmark://loops-v0/add",
        }
        super().__init__(service, **{**defaults, **arguments})


for _id, _service in (
    ("unrolling-py-v0", "unrolling_service.py"),
    ("loops-opt-py-v0", "loops_service.py"),
):
    register(
        _id,
        entry_point=f"{__name__}:LoopEnv",
        kwargs={
            "service": FOLDER / _service,
            "observation_space": "instructions",
            "reward_space": "runtime",
        },
    )
