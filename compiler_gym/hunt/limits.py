"""Resource limits for the programs that a hunt starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits of a single run of ``opt`` or of a compiled program.

    Attributes:
        seconds: The limit on processor time, at least one second. A run that exceeds it twice, the
            second time with double the limit, counts as a hang.
        memory_mb: The memory limit in megabytes.
        repeats: The number of runs of opt that must make the same bitcode.
        reduce_seconds: The time limit for reducing a finding.
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
        """Returns the limits with a share of the time."""
        return replace(self, seconds=self.seconds * factor)

    def apply(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Returns a command that runs another with these limits, and without a core file."""
        script = f'ulimit -c 0; {self.as_shell()}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *command]

    def as_shell(self) -> str:
        """Returns shell code that sets the limits. At the time limit, LLVM prints its position."""
        seconds = self.cpu_seconds
        return (
            f"ulimit -v {self.memory_mb * 1024}; ulimit -S -t {seconds}; ulimit -H -t {seconds + 5}"
        )
