"""The output of a search: the object file, and a script that reproduces it."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.filesystem import atomic_file_write

_SECONDS = 3600


def write_object(evaluation: Evaluation, output: Path) -> None:
    """Writes the object file of an evaluation atomically.

    Raises:
        OSError: If it cannot be written.
    """
    with atomic_file_write(output) as path:
        shutil.copyfile(evaluation.path, path)


def reproduces(compilation: Compilation, best: Evaluation) -> bool:
    """Returns true if a single command makes the same object file from the source.

    It may differ if the bitcode has another name of the source for debuggers.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = Path(folder) / "again.o"
        try:
            run_command(compilation.command(path, best.change), timeout=_SECONDS)
        except subprocess.SubprocessError:  # The source may have changed meanwhile.
            return False
        return read_object(path).digest == best.object.digest


def write_script(
    script: Path, commands: Sequence[Sequence[str]], said: Sequence[str]
) -> list[bool]:
    """Writes a script that reproduces object files, and runs it as a check.

    The argument of the script is the path of the object file, or the folder of several ones. The
    default is their present place. The environment variable ``CLANG`` selects another compiler. If
    a command loads the plugin of passes, a copy of it is written beside the script, so the script
    works without this package.

    Args:
        script: The path of the script.
        commands: The command of clang for each object file. The file must exist, and the command
            must end with its path. Several files must be in one folder.
        said: Lines of comments.

    Returns:
        For each object file, true if the script makes the same bytes. It does not if it fails.

    Raises:
        OSError: If it cannot be written.
    """
    plugin = str(llvm_tools.own_passes_path())
    needs_plugin = any(plugin in word for command in commands for word in command)
    copy = script.with_name(f"{script.name}-passes.so")
    outputs = [Path(command[-1]).absolute() for command in commands]
    is_single = len(outputs) == 1
    lines = [
        "#!/bin/sh",
        *(f"# {line}" for text in said for line in text.splitlines()),
        "set -e",
        *[f'passes=$(cd "$(dirname "$0")" && pwd)/{shlex.quote(copy.name)}'] * needs_plugin,
        f"cd {shlex.quote(os.getcwd())}",
    ]
    # In an assignment, the shell removes the quotes of the default, and splits nothing.
    default = shlex.quote(str(outputs[0] if is_single else outputs[0].parent))
    lines.append(f"output=${{1:-{default}}}")
    for (clang, *words), output in zip(commands, outputs, strict=True):
        lines.append(f"clang=${{CLANG:-{shlex.quote(str(clang))}}}")
        target = '"$output"' if is_single else f'"$output"/{shlex.quote(output.name)}'
        arguments = " ".join(_quoted(word, plugin) for word in words[:-1])
        lines.append(f'"$clang" {arguments} {target}')
    if needs_plugin:
        shutil.copyfile(plugin, copy)
    text = "".join(f"{line}\n" for line in lines)
    with atomic_file_write(script, fileobj=True, mode="w", permissions=0o777) as file:
        file.write(text)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        again = [Path(folder) / output.name for output in outputs]
        argument = again[0] if is_single else Path(folder)
        try:
            run_command(["/bin/sh", script.absolute(), argument], timeout=_SECONDS)
        except subprocess.SubprocessError:
            return [False] * len(outputs)
        pairs = zip(again, outputs, strict=True)
        return [made.read_bytes() == output.read_bytes() for made, output in pairs]


def _quoted(word: str, plugin: str) -> str:
    """Returns a word for a shell. The path of the plugin becomes the variable ``passes``."""
    before, found, after = word.partition(plugin)
    if not found:
        return shlex.quote(word)
    return "".join((before and shlex.quote(before), '"$passes"', after and shlex.quote(after)))
