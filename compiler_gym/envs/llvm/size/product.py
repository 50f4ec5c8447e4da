"""What a search leaves: the object file, and a script that makes it again."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.envs.llvm.size.compilation import Change, Compilation
from compiler_gym.envs.llvm.size.evaluator import Evaluation
from compiler_gym.envs.llvm.size.object_file import read_object
from compiler_gym.util.commands import run_command
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.shell_format import join_cmd

_SECONDS = 3600


def write_object(evaluation: Evaluation, output: Path) -> None:
    """Writes the object file of an evaluation, at once.

    Raises:
        OSError: If it cannot be written.
    """
    with atomic_file_write(output) as path:
        shutil.copyfile(evaluation.path, path)
        path.chmod(0o666 & ~_umask())


def reproduces(compilation: Compilation, best: Evaluation) -> bool:
    """Returns whether a single command makes the object file of the source, byte for byte.

    It may not where the bitcode holds another name of the source, for debuggers.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = Path(folder) / "again.o"
        run_command(compilation.command(path, best.change), timeout=_SECONDS)
        return read_object(path).digest == best.object.digest


def write_script(
    script: Path, compilation: Compilation, change: Change, output: Path, said: Sequence[str]
) -> bool:
    """Writes a script that makes the object file of the source, and runs it to see if it does.

    The script takes the path of the object file as its argument, by default ``output``. ``CLANG``
    names another compiler.

    Args:
        script: Where it goes.
        compilation: How the source is compiled.
        change: What is changed of that.
        output: The object file, which is there.
        said: Lines of comments.

    Returns:
        Whether it makes the same bytes.

    Raises:
        OSError: If it cannot be written.
        CommandError: If it does not work.
    """
    clang, *words = compilation.command(output, change)
    command = f'exec "${{CLANG:-{clang}}}" {join_cmd(words[:-1])} "${{1:-{output.absolute()}}}"'
    comments = "".join(f"# {line}\n" for line in said)
    text = f"#!/bin/sh\n{comments}cd {shlex.quote(os.getcwd())} || exit 1\n{command}\n"
    with atomic_file_write(script, fileobj=True, mode="w") as file:
        file.write(text)
    script.chmod(0o777 & ~_umask())
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = Path(folder) / "again.o"
        run_command(["/bin/sh", script.absolute(), path], timeout=_SECONDS)
        return path.read_bytes() == output.read_bytes()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
