"""What a hunt grants to each program that it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits of a single run of ``opt`` or of a compiled program.

    Attributes:
        seconds: How long it may take. What takes longer twice, the second time with double the
            time, is said to hang.
        memory_mb: How much memory it may ask for, in megabytes.
        repeats: How often opt is run to see whether it makes the same bitcode each time.
        reduce_seconds: How long making a finding smaller may take.
    """

    seconds: float = 20
    memory_mb: int = 4096
    repeats: int = 2
    reduce_seconds: float = 600

    def apply(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Returns a command that runs another with this much memory, and without a core file."""
        script = f'ulimit -c 0; ulimit -v {self.memory_mb * 1024}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *command]
