"""Resource limits for the programs that a hunt starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits of a single run of ``opt`` or of a compiled program.

    Attributes:
        seconds: How much processor time it may take, at least one second. What takes longer
            twice, the second time with double the time, is said to hang.
        memory_mb: How much memory it may ask for, in megabytes.
        repeats: How often opt is run to see whether it makes the same bitcode each time.
        reduce_seconds: How long making a finding smaller may take.
    """

    seconds: float = 20
    memory_mb: int = 4096
    repeats: int = 2
    reduce_seconds: float = 600

    @property
    def cpu_seconds(self) -> int:
        """The processor time in whole seconds, as shells count it."""
        return max(1, round(self.seconds))

    @property
    def wall_seconds(self) -> int:
        """The wall-clock timeout. Longer than the CPU limit, because the machine may be busy."""
        return 8 * self.cpu_seconds

    def shares(self, factor: float) -> "Limits":
        """Returns the same with another share of the time."""
        return replace(self, seconds=self.seconds * factor)

    def apply(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Returns a command that runs another with these limits, and without a core file."""
        script = f'ulimit -c 0; {self.as_shell()}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *command]

    def as_shell(self) -> str:
        """Returns what sets the limits in a shell. LLVM says where it is at the end of the time."""
        seconds = self.cpu_seconds
        return (
            f"ulimit -v {self.memory_mb * 1024}; ulimit -S -t {seconds}; ulimit -H -t {seconds + 5}"
        )
