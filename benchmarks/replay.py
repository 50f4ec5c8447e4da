"""LLVM in a process of its own, without a service: the client of benchmarks/llvm_service/Replay."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReplayStart:
    """The start of a recorded session.

    Attributes:
        instructions: The number of IR instructions of the program.
        load_us: The microseconds to load, verify and anonymise it.
        start_us: The microseconds to parse the result and make what runs passes on it.
    """

    instructions: int
    load_us: float
    start_us: float


class Replay:
    """Runs passes on a program. Durations are in microseconds, measured in the other process.

    Args:
        binary: The executable of Replay.cc, which says more about each command.
        program: A bitcode file.
    """

    def __init__(self, binary: Path, program: Path):
        self._process = subprocess.Popen(
            [str(binary), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self) -> ReplayStart:
        """Begins anew from the file."""
        ((instructions, load, start),) = self._ask(["start"])
        return ReplayStart(instructions, load / 1e3, start / 1e3)

    def run(self, pipelines: Sequence[str]) -> float:
        """Runs passes as ``opt`` does."""
        return sum(time / 1e3 for (time,) in self._ask([f"run {text}" for text in pipelines]))

    def apply(self, pipelines: Sequence[str]) -> tuple[float, bool]:
        """Runs passes as the service does; also returns whether any changed the program."""
        answers = self._ask([f"apply {text}" for text in pipelines])
        return sum(time for time, _ in answers) / 1e3, any(changed for _, changed in answers)

    def observe(self, observation: str) -> float:
        """Computes an observation of what :meth:`apply` has made."""
        ((time,),) = self._ask([f"observe {observation}"])
        return time / 1e3

    def _ask(self, commands: Sequence[str]) -> list[list[int]]:
        """Sends commands, few enough for the buffer of a pipe, and returns the answers.

        Raises:
            RuntimeError: If one fails. The text says why.
        """
        try:
            self._process.stdin.write("".join(f"{command}\n" for command in commands))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # It has failed before; the answer that is missing tells.
        answers = [self._process.stdout.readline().split() for _ in commands]
        if not all(answers):
            raise RuntimeError(f"{self._process.communicate()[1].strip()} (in {commands})")
        return [[int(word) for word in words] for words in answers]

    def close(self) -> None:
        """Ends the process. May be called repeatedly."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, *_) -> None:
        self.close()
