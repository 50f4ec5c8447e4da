"""Programs that are given as text: checks of them, and the messages of the compiler."""

import re
import shlex
import subprocess
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.own_programs import make_benchmark_from_source
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import Diagnostic, Source
from compiler_gym.explorer.problems import ExplorerError
from compiler_gym.util.commands import run_command

_FLAG = re.compile(
    r"-D\w+(=[^\n]*)?|-U\w+|-std=[\w+:]+|-m(arch|tune|cpu)=[\w.+-]+|-O[0123sz]"
    r"|-f(no-)?(exceptions|rtti|fast-math|wrapv|strict-aliasing|builtin|unroll-loops|vectorize"
    r"|slp-vectorize|math-errno|signed-zeros|trapping-math)|-ffreestanding|-w"
)
_DIAGNOSTIC = re.compile(
    r"^(?:<stdin>|-|[^:\n]*):(\d+):(\d+): (?:fatal )?(error|warning|note): (.*)$", re.M
)
_INCLUDED = re.compile(r"^\.+ (.+)$", re.M)
_LINE_SPLICE = re.compile(r"(\\|\?\?/)[ \t\v\f\r]*\n")
_EMBED = re.compile(r"(#|%:|\?\?=)(\s|/\*.*?\*/)*embed\b", re.S)
_ASSEMBLY = re.compile(r"^module asm |\basm( \w+)* \"", re.M)

# Headers of the system, of C++ and of clang.
_HEADER_FOLDERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm-", "/usr/lib/clang/")
# In the folder of an LLVM elsewhere: headers of clang, and the C library of compiler_gym_clang.
_LLVM_HEADER_FOLDERS = ("lib/clang", "c-library/usr/include")


def make_program(source: Source, limits: Limits) -> Benchmark:
    """Compiles a program that is given as text.

    No file but the headers of the system can become part of it.

    Args:
        source: The text.
        limits: The largest size and the longest time.

    Raises:
        ExplorerError: If it is too large, does not compile, or names other files.
        EnvironmentNotSupported: If clang is not installed.
    """
    size = len(source.text.encode())
    if size > limits.source_bytes:
        raise ExplorerError(
            "limit",
            f"expected a program of at most {limits.source_bytes:,} bytes, got {size:,}",
        )
    flags = _checked_flags(source.flags)
    try:
        if source.language != "ir":
            _check_includes(source, flags, limits)
            # Messages that have a place in the text.
            flags = ["-fno-caret-diagnostics", "-fno-color-diagnostics", *flags]
        return make_benchmark_from_source(
            source.text, flags, lang=source.language, timeout=limits.compile_seconds
        )
    except BenchmarkInitError as error:
        raise _compile_error(str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise ExplorerError(
            "limit", f"The compiler took longer than {limits.compile_seconds:g} s"
        ) from error


def check_assembly(ir: str) -> None:
    """Refuses inline assembly, whose directives can read files.

    Raises:
        ExplorerError: If there is any.
    """
    if _ASSEMBLY.search(ir):
        raise ExplorerError("program", "expected a program without inline assembly, got some")


def _checked_flags(text: str) -> list[str]:
    try:
        flags = shlex.split(text)
    except ValueError as error:
        raise ExplorerError("input", f"expected compiler flags, got {text!r}: {error}") from error
    for flag in flags:
        if not _FLAG.fullmatch(flag):
            raise ExplorerError(
                "input",
                f"expected flags such as -DNAME=1, -std=c++20, -march=..., or -ffast-math, got "
                f"{flag!r}",
            )
    return flags


def _check_includes(source: Source, flags: list[str], limits: Limits) -> None:
    """Refuses sources that read other files than headers of the system."""
    if _EMBED.search(_LINE_SPLICE.sub("", source.text)):
        raise ExplorerError("program", "#embed is not allowed: it reads files of the server")
    done = run_command(
        [tools.clang_path(), *flags, "-x", source.language, "-E", "-H", "-o", "/dev/null", "-"],
        timeout=limits.compile_seconds,
        stdin=source.text.encode(),
        text=False,
        check=False,
        cwd=Path("/"),
    )
    llvm = tools.clang_path().resolve().parents[1]
    folders = (*_HEADER_FOLDERS, *(f"{llvm / folder}/" for folder in _LLVM_HEADER_FOLDERS))
    for name in _INCLUDED.findall(done.stderr.decode(errors="replace")):
        path = str(Path(name).resolve())
        if not path.startswith(folders):
            raise ExplorerError(
                "program",
                f"expected #include of headers of the system, got {name}; paste its text instead",
            )


def _compile_error(text: str) -> ExplorerError:
    diagnostics = [
        Diagnostic.model_validate(
            {"line": int(line), "column": int(column), "severity": severity, "message": message}
        )
        for line, column, severity, message in _DIAGNOSTIC.findall(text.replace("\n  ", "\n"))
    ]
    errors = [each for each in diagnostics if each.severity == "error"]
    if not errors:
        return ExplorerError("program", text.partition("\n")[2].strip() or text, diagnostics)
    first = errors[0]
    return ExplorerError("program", f"line {first.line}: {first.message}", diagnostics)
