"""Export of optimised programs as files and text."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.programs import OpenedProgram, path_below
from compiler_gym.envs.llvm.llvm_env import LlvmEnv

_SUFFIXES = {"object": ".o", "bitcode": ".bc", "ir": ".ll"}


@contextmanager
def object_file(env: LlvmEnv) -> Iterator[Path]:
    """Yields an object file of the program of an environment, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        yield env.write_object(Path(folder, "program.o"))


def python_program(program: OpenedProgram, passes: Sequence[str]) -> str:
    """Returns a Python program that applies passes to a program."""
    benchmark = f'"{program.name}"  # The program that was given to open_program.'
    if not program.is_own:
        benchmark = repr(str(getattr(program.benchmark, "uri", program.benchmark)))
    return (
        "import compiler_gym\n\n"
        f"benchmark = {benchmark}\n"
        'with compiler_gym.make("llvm-v0") as env:\n'
        "    env.reset(benchmark=benchmark)\n"
        f"    for name in {[*passes]!r}:\n"
        "        env.step(env.action_space[name])\n"
        '    print(env.observation["IrInstructionCount"])\n'
    )


def write_file(env: LlvmEnv, root: Path | None, format: str, file: str) -> int:
    """Writes the program of an environment to a new file below a folder.

    Returns:
        The size of the file in bytes.

    Raises:
        AgentError: If there is no folder, or the name is not that of a new file below it.
    """
    if format not in _SUFFIXES:
        raise AgentError(f"expected a format opt, python, {', '.join(_SUFFIXES)}, got {format!r}")
    path = path_below(root, file)
    if path.suffix != _SUFFIXES[format]:
        raise AgentError(f"expected a file that ends in {_SUFFIXES[format]}, got {file!r}")
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        made = Path(folder, path.name)
        if format == "object":
            env.write_object(made)
        elif format == "bitcode":
            env.write_bitcode(made)
        else:
            env.write_ir(made)
        try:
            # Never through a link, and never over a file that exists.
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise AgentError(
                f"expected a new file in a folder that exists, got {file!r}: {error.strerror}"
            ) from error
        with os.fdopen(number, "wb") as sink:
            return sink.write(made.read_bytes())
