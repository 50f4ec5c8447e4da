"""Tasks without a compiler."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.distributed.task import name_of
from compiler_gym.util.llvm_engines import asked_version


@dataclass(frozen=True)
class Square:
    """Computes the square of a number."""

    number: int

    @property
    def name(self):
        return name_of({"square": self.number})

    def run(self, worker):
        return self.number**2


@dataclass(frozen=True)
class Blob(Square):
    """Reads the data of a digest."""

    digest: str = ""

    def run(self, worker):
        return worker.blob(self.digest)


@dataclass(frozen=True)
class Deadly(Square):
    """Kills its process, each time or only the first time."""

    mark: str = ""

    def run(self, worker):
        if not self.mark or not Path(self.mark).exists():
            if self.mark:
                Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number**2


@dataclass(frozen=True)
class AskedVersion(Square):
    """Returns the version of LLVM that is asked for."""

    def run(self, worker):
        return asked_version()


@dataclass(frozen=True)
class Unpicklable(Square):
    """Returns what cannot be sent."""

    def run(self, worker):
        return lambda: self.number


@dataclass(frozen=True)
class Hanging(Square):
    """Never ends."""

    def run(self, worker):
        signal.pause()


@dataclass(frozen=True)
class CleaningUp(Square):
    """Never ends by itself. Is told twice to end, and cleans up."""

    mark: str = ""

    def run(self, worker):
        try:
            signal.pause()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            Path(self.mark).touch()


@dataclass(frozen=True)
class Failing(Square):
    """Raises an exception."""

    is_final: bool = False

    def run(self, worker):
        raise (ValueError if self.is_final else OSError)(f"number {self.number}")


@dataclass(frozen=True)
class WhoAmI(Square):
    """Tells the process of its worker."""

    def run(self, worker):
        return os.getpid()
