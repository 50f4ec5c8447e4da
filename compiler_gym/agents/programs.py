"""Programs of agents: opened by name, as text, or from a file below a folder; and exported."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS
from compiler_gym.envs.llvm.datasets.llvm_datasets import uri_of_name
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.explorer.messages import ExplorerError, Language, Source
from compiler_gym.explorer.sources import LANGUAGES, make_program

_MEMORY_KIB = 4 << 20
# The program a.out is a link, not a file.
_RUN_COMMAND = (
    f"ulimit -v {_MEMORY_KIB}; ./a.out 2>&1; status=$?; "
    "find . -type f -exec cksum {} + | sort; exit $status"
)


@dataclass(frozen=True)
class OpenedProgram:
    """A program.

    Attributes:
        name: Its name in texts.
        benchmark: Its benchmark.
        is_own: True if an agent gave its text or file.
        is_fixed: True if it is always the same under its name.
    """

    name: str
    benchmark: Benchmark | str
    is_own: bool = False
    is_fixed: bool = False


def named_program(compiler: Compiler, name: str) -> OpenedProgram:
    """Returns a program of a data set.

    Args:
        compiler: The compiler, which has the data sets.
        name: A URI with or without its scheme, or the name of a built-in program.

    Raises:
        AgentError: If there is no program with that name.
    """
    uri = uri_of_name(name)
    try:
        # Other URIs name files of the server: file:, proto:, and those of benchmark://file-v0.
        compiler.datasets.dataset(uri)
        benchmark = compiler.datasets.benchmark(uri)
    except (LookupError, ValueError, OSError) as error:
        names = [each.rpartition("/")[2] for each in compiler.datasets[KERNELS].benchmark_uris()]
        names += [f"{each.name}/{name.rpartition('/')[2]}" for each in compiler.datasets]
        raise AgentError(
            f"expected the name of a program, got {name!r}.{did_you_mean(name, names)} "
            f"Call list_programs for names, or use the argument file. {text_of(error)[:300]}"
        ) from error
    return OpenedProgram(uri.removeprefix("benchmark://"), benchmark, is_fixed=True)


def text_program(
    compiler: Compiler, text: str, language: Language, flags: str, name: str = "source"
) -> OpenedProgram:
    """Compiles a program that is given as text. It may include headers of the system only.

    Raises:
        AgentError: If it is too large, or does not compile.
        EnvironmentNotSupported: If clang is not installed.
    """
    source = Source(language=language, text=text, flags=flags)
    try:
        benchmark = make_program(source, compiler.tools)
    except ExplorerError as error:
        lines = [
            f"line {each.line}: {each.message}"
            for each in error.problem.diagnostics
            if each.severity == "error"
        ]
        problem = "; ".join([str(error), *lines[1:5]])
        raise AgentError(f"The program does not compile: {problem}") from error
    return own_program(name, benchmark, compiler.limits)


def file_program(compiler: Compiler, root: Path | None, file: str, flags: str) -> OpenedProgram:
    """Opens a file below a folder: C, C++, textual IR, or bitcode.

    Raises:
        AgentError: If it is not below the folder, too large, or does not compile.
    """
    path = path_below(root, file)
    if not path.is_file():
        raise AgentError(f"There is no file {file!r} below the folder of the server")
    limits = compiler.limits
    size = path.stat().st_size
    if size > limits.file_bytes:
        raise AgentError(f"expected a file of at most {limits.file_bytes:,} bytes, got {size:,}")
    if path.suffix == ".bc":
        benchmark = Benchmark.from_file_contents(
            f"benchmark://user-v0/{path.stem}", path.read_bytes()
        )
        return own_program(path.name, benchmark, limits)
    if path.suffix not in LANGUAGES:
        raise AgentError(f"expected a file that ends in .bc, {', '.join(LANGUAGES)}, got {file!r}")
    text = path.read_text(encoding="utf-8", errors="replace")
    return text_program(compiler, text, LANGUAGES[path.suffix], flags, path.name)


def path_below(root: Path | None, file: str) -> Path:
    """Returns the path of a file below a folder, links resolved.

    Raises:
        AgentError: If there is no folder, or the file is elsewhere.
    """
    if root is None:
        raise AgentError(
            "This server was started without a folder for files: pass the program as text in the "
            "argument source, or ask the user to restart it with --root FOLDER"
        )
    try:
        path = (root / file).resolve()
    except (OSError, RuntimeError, ValueError):  # Such as a null byte, or a loop of links.
        path = None
    if path is None or not path.is_relative_to(root.resolve()):
        raise AgentError(f"expected a path below the folder of the server, got {file!r}")
    return path


def own_program(name: str, benchmark: Benchmark, limits: Limits) -> OpenedProgram:
    """Adds a validation to an agent's program: its output must not change.

    Its output is what it prints to stdout and stderr, and the files that it writes.
    """
    check = ReferenceValidator(
        LIBRARIES, limits.run_seconds, (_RUN_COMMAND,), run_seconds=limits.run_seconds
    )
    benchmark.add_validation_callback(validate_against_opt)
    benchmark.add_validation_callback(check)
    return OpenedProgram(name, benchmark, is_own=True)


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
