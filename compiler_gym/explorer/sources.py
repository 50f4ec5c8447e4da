"""Compilation of programs that others give as text. No file of the server becomes part of them.

The compiler sees the headers of the system and no other file: a virtual file system shows it only
these, whatever the source includes, embeds or asks for. Besides, it runs confined.
"""

import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation
from compiler_gym.envs.llvm.benchmarks.own_programs import uri_of_user_ir
from compiler_gym.explorer.commands import Tools
from compiler_gym.explorer.messages import Diagnostic, ExplorerError, Language, Source
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError

_FLAG = re.compile(
    r"-D\w+(=[^\n]*)?|-U\w+|-std=[\w+:]+|-m(arch|tune|cpu)=[\w.+-]+|-O[0123sz]"
    r"|-f(no-)?(exceptions|rtti|fast-math|wrapv|strict-aliasing|builtin|unroll-loops|vectorize"
    r"|slp-vectorize|math-errno|signed-zeros|trapping-math)|-ffreestanding|-w"
)
# Paths with a root are those of headers, whose lines are no lines of the source.
_DIAGNOSTIC = re.compile(r"^(?!/)[^:\n]*:(\d+):(\d+): (?:fatal )?(error|warning|note): (.*)$", re.M)
_ERROR = re.compile(r"error: (.*)")
# The driver's message if it survives the crash.
_CRASH = "clang frontend command failed"
_MAX_DIAGNOSTICS = 100
_MAX_CHARACTERS = 300
_FILE_ADVICE = "expected #include of headers of the system; paste the text of other files instead"

_ASSEMBLY = re.compile(
    r'^module asm |\basm( sideeffect| alignstack| inteldialect| unwind)* "[^"]*", "', re.M
)

# Headers of the system, of C++ and of clang.
_HEADER_FOLDERS = ("/usr/include", "/usr/lib/gcc", "/usr/lib/clang")
_HEADERS_OF_LLVM = "/usr/lib/llvm-*/lib/clang"
# In the folder of an LLVM elsewhere: headers of clang, and the C library of compiler_gym_clang.
_LLVM_HEADER_FOLDERS = ("lib/clang", "c-library/usr/include")
_SUFFIXES = {"c": ".c", "c++": ".cc", "ir": ".ll"}
LANGUAGES: dict[str, Language] = {
    ".c": "c",
    ".cc": "c++",
    ".cpp": "c++",
    ".cxx": "c++",
    ".ll": "ir",
}
"""The language of a file by its suffix."""


def make_program(source: Source, tools: Tools) -> Benchmark:
    """Compiles a program that is given as text.

    No file but the headers of the system can become part of it.

    Args:
        source: The text.
        tools: Runs the compiler. Its limits are those of the text, too.

    Raises:
        ExplorerError: If it is too large, does not compile, or names other files.
        EnvironmentNotSupported: If clang is not installed.
    """
    contents = source.text.encode()
    if len(contents) > tools.limits.source_bytes:
        raise ExplorerError(
            "limit",
            f"expected a program of at most {tools.limits.source_bytes:,} bytes, got "
            f"{len(contents):,}",
        )
    flags = _checked_flags(source.flags)
    with tools.folder() as folder:
        bitcode = compile_source(contents, source.language, flags, tools, folder)
        ir, _ = tools.run([llvm_tools.llvm_dis_path(), "-", "-o", "-"], folder, bitcode)
    benchmark = Benchmark.from_file_contents(uri_of_user_ir("source", ir), bitcode)
    name = f"source{_SUFFIXES[source.language]}"
    benchmark.add_source(BenchmarkSource(filename=name, contents=contents))
    return benchmark


def compile_source(
    text: bytes, language: str, flags: Sequence[str], tools: Tools, folder: Path
) -> bytes:
    """Compiles a source to bitcode, without running any LLVM pass.

    Args:
        text: The source.
        language: ``"c"``, ``"c++"`` or ``"ir"``.
        flags: Flags of the compiler, which are trusted.
        tools: Runs the compiler.
        folder: A folder of ``tools``.

    Raises:
        ExplorerError: If it does not compile, or takes too much time or memory.
        EnvironmentNotSupported: If clang is not installed.
    """
    view = folder / "headers.json"
    view.write_text(_view_of_headers(llvm_tools.clang_prefix()))
    # Messages that have a place in the text, and no lines of other files.
    plain = ["-fno-caret-diagnostics", "-fno-color-diagnostics"]
    options = [*ClangInvocation.DEFAULT_COPT, *plain, f"-ivfsoverlay{view}", *flags]
    clang = [str(llvm_tools.clang_path()), *options, "-x", language, "-", "-emit-llvm", "-o", "-"]
    seconds = tools.limits.compile_seconds
    # So that both compilations are of the same program, which may depend on the time.
    variables = {"SOURCE_DATE_EPOCH": str(int(time.time()))}
    try:
        if tools.limits.is_public:
            # First as text: for bitcode, clang runs the directives of assembly to list its symbols.
            ir, _ = tools.run([*clang, "-S"], folder, text, seconds, variables)
            check_assembly(ir.decode(errors="replace"))
        return tools.run([*clang, "-c"], folder, text, seconds, variables)[0]
    except CommandError as error:
        raise _compile_error(error) from error
    except subprocess.TimeoutExpired as error:
        raise ExplorerError("limit", f"The compiler took longer than {seconds:g} s") from error


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


@cache
def _view_of_headers(llvm: Path) -> str:
    """Returns a virtual file system with the headers alone, as clang's -ivfsoverlay reads it."""
    roots = [
        {"type": "directory-remap", "name": str(each), "external-contents": str(each)}
        for each in dict.fromkeys(_header_folders(llvm))
    ]
    view = {"version": 0, "case-sensitive": "true", "redirecting-with": "redirect-only"}
    return json.dumps({**view, "roots": roots})


def _header_folders(llvm: Path) -> Iterator[Path]:
    system = Path("/")
    of_llvm = system.glob(_HEADERS_OF_LLVM.removeprefix("/"))
    others = [llvm / name for name in _LLVM_HEADER_FOLDERS]
    for folder in [*map(Path, _HEADER_FOLDERS), *sorted(of_llvm), *others]:
        if folder.is_dir():
            yield folder
            yield folder.resolve()


def _compile_error(error: CommandError) -> ExplorerError:
    text = _without_folders(error.stderr.decode(errors="replace"))
    diagnostics = [
        Diagnostic.model_validate(
            {
                "line": int(line),
                "column": int(column),
                "severity": severity,
                "message": message[:_MAX_CHARACTERS],
            }
        )
        for line, column, severity, message in _DIAGNOSTIC.findall(text)[:_MAX_DIAGNOSTICS]
    ]
    return ExplorerError("program", _problem(error.returncode, text, diagnostics), diagnostics)


def _problem(code: int, text: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Returns the first error in a source, or in a header that it includes."""
    if code < 0 or _CRASH in text:
        return "The compiler crashed"
    for each in diagnostics:
        if each.severity == "error":
            advice = f"; {_FILE_ADVICE}" if "file not found" in each.message else ""
            return f"line {each.line}: {each.message}{advice}"
    place = f"line {diagnostics[0].line}: in a header" if diagnostics else "in a header"
    if found := _ERROR.search(text):
        return f"{place}: {found[1][:_MAX_CHARACTERS]}"
    # Such as a missing library of the compiler. Folders of the server are nobody's business.
    last = re.sub(r"\S*/", "", text.strip().rpartition("\n")[2])[:_MAX_CHARACTERS]
    return f"The compiler failed: {last or f'exit code {code}'}"


def _without_folders(text: str) -> str:
    """Returns messages of the compiler without the folders of headers."""
    llvm = llvm_tools.clang_prefix()
    # A line of a header begins with its name, which keeps its slash.
    for folder in {Path("/usr"), *_header_folders(llvm)}:
        text = re.sub(rf"{re.escape(str(folder))}/(?:[\w.+-]+/)*", "/", text)
    return text
