"""Plays in process: what is left when the service is taken away too."""

from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from benchmarks.player import Player
from benchmarks.replay import Replay
from compiler_gym.datasets import Benchmark


class ReplayPlayer(Player):
    """Runs the passes on the module and nothing else, or what the service does on top of that.

    Args:
        binary: The executable of Replay.cc.
        program: The bitcode file of the only program that it plays on.
        pipelines: The pass of each action.
        observations: What each step observes. Unless it is None, a step does what the service does:
            after each pass it looks whether the program has changed, and observes it if so.
    """

    def __init__(
        self,
        binary: Path,
        program: Path,
        pipelines: Sequence[str],
        observations: Sequence[str] | None,
    ):
        self._replay = Replay(binary, program)
        self._pipelines = pipelines
        self._observed = observations
        self._history: list[str] = []

    @override
    def reset(self) -> float:
        self._history.clear()
        return self._replay.start().start_us

    @override
    def reset_to(self, benchmark: Benchmark) -> float:
        del benchmark  # A copy of the only program.
        self._history.clear()
        start = self._replay.start()
        return start.load_us + start.start_us

    @override
    def play(self, actions: Sequence[int]) -> float:
        pipelines = [self._pipelines[action] for action in actions]
        self._history += pipelines
        if self._observed is None:
            return self._replay.run(pipelines)
        duration, changed = self._replay.apply(pipelines)
        if changed:
            duration += sum(self._replay.observe(name) for name in self._observed)
        return duration

    @override
    def observe(self, observation: str) -> float:
        return self._replay.observe(observation)

    @override
    def fork(self) -> float:
        """Begins anew and repeats the passes: the state is the same afterwards."""
        start = self._replay.start().start_us
        return start + self._replay.apply(self._history)[0]

    @override
    def close(self) -> None:
        self._replay.close()
