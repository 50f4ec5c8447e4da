"""The output of a search: the object file, and a script that reproduces it."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.object_file import read_object
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
    script: Path, commands: Sequence[Sequence[str]], said: Sequence[str]
) -> list[bool]:
    """Writes a script that makes object files again, and runs it to see if it does.

    The script takes the path of the object file as its argument; of several, the path of their
    folder. By default they go where they are now. ``CLANG`` names another compiler.

    Args:
        script: Where it goes.
        commands: For each object file, which is there, the command of clang that makes it. The
            command ends with its path. Those of several are in one folder.
        said: Lines of comments.

    Returns:
        For each whether the script makes the same bytes.

    Raises:
        OSError: If it cannot be written.
        CommandError: If it does not work.
    """
    outputs = [Path(command[-1]).absolute() for command in commands]
    is_single = len(outputs) == 1
    lines = [
        "#!/bin/sh",
        *(f"# {line}" for line in said),
        "set -e",
        f"cd {shlex.quote(os.getcwd())}",
    ]
    for (clang, *words), output in zip(commands, outputs, strict=True):
        target = f'"${{1:-{output}}}"'
        if not is_single:
            target = f'"${{1:-{output.parent}}}"/{shlex.quote(output.name)}'
        lines.append(f'"${{CLANG:-{clang}}}" {join_cmd(words[:-1])} {target}')
    text = "".join(f"{line}\n" for line in lines)
    with atomic_file_write(script, fileobj=True, mode="w") as file:
        file.write(text)
    script.chmod(0o777 & ~_umask())
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        again = [Path(folder) / output.name for output in outputs]
        argument = again[0] if is_single else Path(folder)
        run_command(["/bin/sh", script.absolute(), argument], timeout=_SECONDS)
        pairs = zip(again, outputs, strict=True)
        return [made.read_bytes() == output.read_bytes() for made, output in pairs]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
