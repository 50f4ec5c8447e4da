"""The programs of the explorer: built-in ones, and those given as text by its owner or visitors."""

import hashlib
import itertools
import re
import shlex
import subprocess
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm.benchmarks.own_programs import make_benchmark_from_source
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer import messages
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import Diagnostic, ExplorerError, Source
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

_SUITE = "benchmark://kernels-v0"


@dataclass
class Program:
    """A program of the explorer.

    Attributes:
        message: The facts for the page.
        benchmark: The program, or its URI.
        sources: Its source files, as far as they are known.
        lock: Held while states of it are made.
    """

    message: messages.Program
    benchmark: Benchmark | str
    sources: list[BenchmarkSource] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_built_in(self) -> bool:
        """True if it is one of the package's programs."""
        return str(self.benchmark).startswith(_SUITE)


class Programs:
    """The programs that are known. Those that were used lately are kept, and all of the owner.

    Methods may be called from any thread.

    Args:
        limit: The maximum number of programs besides those of the owner.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Program] = OrderedDict()
        self._own: dict[str, Program] = {}  # By URI.

    def find(self, id: str) -> Program | None:
        """Returns the program with an id; None if it is not known, or no longer."""
        with self._lock:
            for program in self._own.values():
                if id == program.message.id:
                    return program
            if id in self._recent:
                self._recent.move_to_end(id)
            return self._recent.get(id)

    def add(self, program: Program) -> None:
        """Adds a program, and drops those that have not been used for longest."""
        with self._lock:
            self._recent[program.message.id] = program
            while len(self._recent) > self._limit:
                self._recent.popitem(last=False)

    def find_own(self, uri: str) -> Program | None:
        """Returns the owner's program with a URI; None if there is none."""
        with self._lock:
            return self._own.get(uri)

    def find_own_by_name(self, name: str) -> Program | None:
        """Returns the owner's program with a name; None if there is none."""
        with self._lock:
            programs = (each for each in self._own.values() if each.message.name == name)
            return next(programs, None)

    def add_own(self, uri: str, program: Program) -> Program:
        """Adds a program of the owner. Returns the one that has the URI, which may be another."""
        with self._lock:
            return self._own.setdefault(uri, program)

    def name_for_own(self, uri: str) -> str:
        """Returns a name for a program of the owner that none of the others has."""
        with self._lock:
            taken = {program.message.name for program in self._own.values()}
        name = uri.removeprefix(f"{_SUITE}/").removeprefix("benchmark://")
        if uri.startswith(("file://", "benchmark://file-v0/")):
            name = name.rpartition("/")[2]
        candidates = (name if i == 1 else f"{name}-{i}" for i in itertools.count(1))
        return next(each for each in candidates if each not in taken)

    def forget(self) -> None:
        """Drops all programs but the owner's."""
        with self._lock:
            self._recent.clear()


def built_in_names() -> list[str]:
    """Returns the names of the built-in programs, in alphabetical order."""
    return sorted(path.name for path in KERNELS_PATH.iterdir() if path.is_dir())


def built_in_uri(name: str) -> str:
    """Returns the URI of a built-in program."""
    return f"{_SUITE}/{name}"


def id_of_source(source: messages.Source) -> str:
    """Returns the id of a program that is given as text."""
    digest = hashlib.sha256(source.model_dump_json().encode()).hexdigest()[:16]
    return f"source-{digest}"


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
        [
            llvm_tools.clang_path(),
            *flags,
            "-x",
            source.language,
            "-E",
            "-H",
            "-o",
            "/dev/null",
            "-",
        ],
        timeout=limits.compile_seconds,
        stdin=source.text.encode(),
        text=False,
        check=False,
        cwd=Path("/"),
    )
    llvm = llvm_tools.clang_path().resolve().parents[1]
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
