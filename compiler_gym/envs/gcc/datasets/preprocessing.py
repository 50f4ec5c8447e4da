"""Runs the preprocessor, so that a program needs no other files any more."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util.commands import CommandError

_TIMEOUT_SECONDS = 60
_OPTIONS = ("-D", "-U", "-I", "-isystem", "-std=")


def preprocess(
    gcc: Gcc, source: Path, copt: Sequence[str] = (), includes: Sequence[Path] = ()
) -> bytes:
    """Returns a source file after the preprocessor: C with the names of its files.

    Args:
        gcc: The compiler.
        source: The file. Others beside it may be included by it.
        copt: Options of the preprocessor: ``-D``, ``-U``, ``-I`` (of absolute folders),
            ``-isystem`` and ``-std=``, each in one word with what belongs to it.
        includes: Further folders of files that are included.

    Raises:
        BenchmarkInitError: If it does not compile. The text says why.
        ValueError: If an option is another. Those of the compiler are the actions.
        FileNotFoundError: If there is no such file.
    """
    for option in copt:
        if not option.startswith(_OPTIONS) or option in _OPTIONS:
            raise ValueError(
                f"{option!r} is not an option of the preprocessor: use {', '.join(_OPTIONS)} with "
                "what follows in the same word. Other options are the actions of the environment"
            )
    if not source.is_file():
        raise FileNotFoundError(f"There is no file {source}")
    source = source.absolute()
    folders = [f"-I{folder}" for folder in includes]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-gcc-") as name:
        output = Path(name, "program.i")
        # What a file includes is looked for beside it.
        arguments = [*copt, *folders, "-w", "-E", str(source), "-o", str(output)]
        try:
            gcc.run(arguments, Path(name), _TIMEOUT_SECONDS, [source.parent, *includes])
        except CommandError as error:
            raise BenchmarkInitError(f"{source} does not compile: {error.stderr}") from error
        except subprocess.TimeoutExpired as error:
            raise BenchmarkInitError(
                f"Reading {source} took more than {_TIMEOUT_SECONDS} s"
            ) from error
        # The name of its folder would tell apart what is the same program.
        return output.read_bytes().replace(f'"{source.parent}/'.encode(), b'"')


class Preprocessor:
    """Preprocesses the source files of a dataset.

    Args:
        gcc: The compiler.
    """

    def __init__(self, gcc: Gcc):
        self._gcc = gcc

    def __call__(self, source: Path, output: Path) -> None:
        """Preprocesses a file. Raises as :func:`preprocess`."""
        output.write_bytes(preprocess(self._gcc, source))
