"""Links object files to programs, and measures them."""

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.started_programs import run_started

_LINK_SECONDS = 600
_MAX_CHARACTERS = 500


class LinkError(ValueError):
    """Object files that cannot be linked. The text has the reason."""


@dataclass(frozen=True)
class LinkedSize:
    """The size of a program without symbols and debugging information.

    Attributes:
        loaded: Bytes of code, constants and initialised data: text and data, as ``size`` calls it.
        file: Bytes of the file.
    """

    loaded: int
    file: int


@dataclass(frozen=True)
class Linker:
    """A command that links an object file to a program.

    Attributes:
        command: A shell command. ``{}`` stands for the paths of the object files, and the
            environment variable ``PROGRAM`` has the path of the program. Commands run in the
            current folder, several at a time. None for clang.
        libraries: Options for the linker at the end of the command of clang.
        before: Object files to link before it.
        after: Object files to link after it.
    """

    command: str | None = None
    libraries: Sequence[str] = LIBRARIES
    before: tuple[Path, ...] = ()
    after: tuple[Path, ...] = ()

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file.

        Args:
            object_file: The object file.
            program: The path of the new program.

        Raises:
            LinkError: If linking fails. The text has advice.
        """
        files = [*self.before, object_file, *self.after]
        words, advice = self._command(files, program)
        environment = {**tools.command_environment(), "PROGRAM": str(program)}
        try:
            done = run_command(words, _LINK_SECONDS, env=environment, check=False)
        except subprocess.TimeoutExpired:
            raise LinkError(f"Linking takes more than {_LINK_SECONDS} s") from None
        if done.returncode:
            said = done.stderr.strip()[-_MAX_CHARACTERS:]
            # Hides the names of temporary files.
            said = said.replace(str(object_file), "{}").replace(str(program), "$PROGRAM")
            raise LinkError(f"Linking failed with exit code {done.returncode}: {said}{advice}")
        if not program.is_file():
            raise LinkError(
                "The command of --link has not written the program, whose path is in $PROGRAM: add "
                "-o $PROGRAM to it"
            )

    def size(self, object_file: Path) -> LinkedSize:
        """Links an object file, and returns the size of the program.

        Raises:
            LinkError: If it cannot be linked or stripped.
            ValueError: If the program is not ELF.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            program = Path(folder) / "program"
            self.link(object_file, program)
            try:
                run_started([tools.tool_path("llvm-strip"), program], _LINK_SECONDS)
            except CommandError as error:
                raise LinkError(f"The program cannot be stripped: {error}") from error
            return LinkedSize(read_object(program).all, program.stat().st_size)

    def _command(self, files: Sequence[Path], program: Path) -> tuple[list[str | Path], str]:
        """Returns the command, and advice for its failure."""
        if self.command is None:
            words: list[str | Path] = [tools.clang_path(), *files, "-o", program, *self.libraries]
            return words, ". Name a command that links it, as --link 'clang {} other.o -o $PROGRAM'"
        text = self.command.replace("{}", " ".join(shlex.quote(str(path)) for path in files))
        return ["/bin/sh", "-c", text], ""
