"""Makes benchmarks of the user's own programs."""

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import SOURCE_SUFFIXES, make_bitcode, run_tool
from compiler_gym.envs.llvm.benchmarks.clang_invocation import ClangInvocation

_NAMES_OF_MODULE = (b"; ModuleID", b"source_filename")

BenchmarkInput = str | Path | ClangInvocation


def make_benchmark(
    inputs: BenchmarkInput | Iterable[BenchmarkInput],
    copt: Sequence[str] | None = None,
    system_includes: bool = True,
    timeout: float = 600,
) -> Benchmark:
    """Makes a benchmark of a program: C or C++ sources, textual IR, bitcode, or several of these.

    Sources are compiled, without running any LLVM pass, as many at a time as there are processors.
    Several inputs are linked to one module.

    Args:
        inputs: One or more files (``.c``, ``.cc``, ``.cpp``, ``.cxx``, ``.ll``, ``.bc``) or
            compilations.
        copt: Options for the compiler, e.g. ``["-DNDEBUG", "-Iinclude"]``.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds for each of the tools that are run.

    Returns:
        A benchmark ``benchmark://file-v0/path`` of a single bitcode file, else
        ``benchmark://user-v0/name-number``, see :func:`user_benchmark_uri`. It holds the program
        and does not need the files again.
        Its ``sources`` are the C and C++ files.

    Raises:
        FileNotFoundError: If an input does not exist.
        TypeError: If an input is neither a path nor a compilation.
        ValueError: If there is no input, or the suffix of a file is not one of the above.
        BenchmarkInitError: If a program does not compile or link. The text says why.
        EnvironmentNotSupported: If an LLVM tool is not installed.
        subprocess.TimeoutExpired: If a tool takes too long.
    """
    items = checked_inputs(inputs)
    if len(items) == 1 and isinstance(items[0], Path) and items[0].suffix == ".bc":
        return Benchmark.from_file(file_benchmark_uri(items[0]), items[0])
    program, sources = compile_inputs(items, copt, system_includes, timeout)
    benchmark = Benchmark.from_file_contents(user_benchmark_uri(stem_of(items), program), program)
    for source in sources:
        benchmark.add_source(source)
    return benchmark


def checked_inputs(
    inputs: BenchmarkInput | Iterable[BenchmarkInput],
) -> list[Path | ClangInvocation]:
    """Returns the files and compilations of a program. Raises as :func:`make_benchmark`."""
    items = [inputs] if isinstance(inputs, BenchmarkInput) else list(inputs)
    if not items:
        raise ValueError("No inputs: name at least one source or bitcode file")
    return [item if isinstance(item, ClangInvocation) else _checked_path(item) for item in items]


def compile_inputs(
    paths: Sequence[Path | ClangInvocation],
    copt: Sequence[str] | None = None,
    system_includes: bool = True,
    timeout: float = 600,
) -> tuple[bytes, list[BenchmarkSource]]:
    """Returns the bitcode of :func:`checked_inputs`, and the C and C++ files among them.

    Args and errors as of :func:`make_benchmark`.
    """
    compilations = [
        ClangInvocation.from_c_file(path, copt, system_includes, timeout)
        if isinstance(path, Path) and path.suffix in SOURCE_SUFFIXES
        else path
        for path in paths
    ]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        program = make_bitcode(compilations, Path(folder), timeout).read_bytes()
    return program, [
        BenchmarkSource(filename=path.name, contents=path.read_bytes())
        for path in paths
        if isinstance(path, Path) and path.suffix in SOURCE_SUFFIXES
    ]


def make_benchmark_from_source(
    source: str | bytes,
    copt: Sequence[str] | None = None,
    lang: str = "c++",
    system_includes: bool = True,
    timeout: float = 600,
) -> Benchmark:
    """Makes a benchmark of the text of a program.

    Args:
        source: The text.
        copt: Options for the compiler.
        lang: Its language as clang's ``-x`` names it: ``"c++"``, ``"c"``, ``"ir"``.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds that the compilation may take.

    Returns:
        A benchmark ``benchmark://user-v0/source-number``, see :func:`user_benchmark_uri`, whose
        source is the text.

    Raises:
        BenchmarkInitError: If the program does not compile. The text says why.
        EnvironmentNotSupported: If clang is not installed.
        subprocess.TimeoutExpired: If the compilation takes too long.
    """
    contents = source.encode() if isinstance(source, str) else source
    args = [*ClangInvocation.DEFAULT_COPT, *(copt or ()), "-x", lang, "-"]
    invocation = ClangInvocation(args, system_includes=system_includes, timeout=timeout)
    program = run_tool(invocation.command(Path("-")), timeout=timeout, stdin=contents)
    benchmark = Benchmark.from_file_contents(user_benchmark_uri("source", program), program)
    suffix = {"c": ".c", "ir": ".ll"}.get(lang, ".cc")
    benchmark.add_source(BenchmarkSource(filename=f"source{suffix}", contents=contents))
    return benchmark


def file_benchmark_uri(path: Path) -> str:
    """Returns the URI of the benchmark of a bitcode file."""
    return f"benchmark://file-v0{quote(str(path.absolute()))}"


def user_benchmark_uri(name: str, program: bytes, *others: bytes) -> str:
    """Returns the URI of a benchmark that is made from the user's input.

    It is that of the program: who makes the same program of the same source elsewhere, in another
    folder or on another machine, gets the same, so that saved states find it there.

    Args:
        name: What it begins with.
        program: Bitcode, or textual IR.
        others: What else makes a difference.
    """
    # The names of the module are those of files, and no part of the program.
    ir = run_tool([tools.llvm_dis_path(), "-", "-o", "-"], timeout=600, stdin=program)
    key = hashlib.sha256()
    for line in ir.splitlines():
        if not line.startswith(_NAMES_OF_MODULE):
            key.update(line + b"\n")
    for other in others:
        key.update(b"\0" + other)
    return f"benchmark://user-v0/{quote(name)}-{key.hexdigest()[:16]}"


def stem_of(inputs: Iterable[object]) -> str:
    """Returns a name for a program: that of its first file, without the suffix."""
    return next((Path(item).stem for item in inputs if isinstance(item, str | Path)), "program")


def _checked_path(item: object) -> Path:
    if not isinstance(item, (str, Path)):
        raise TypeError(
            f"An input must be a path or a ClangInvocation, not {type(item).__name__}: {item!r}"
        )
    path = Path(item).expanduser().absolute()
    if path.suffix not in (".bc", ".ll", *SOURCE_SUFFIXES):
        raise ValueError(
            f"Cannot tell the kind of '{item}' from its suffix: name a .bc, .ll, "
            f"{', '.join(SOURCE_SUFFIXES)} file, or pass a ClangInvocation"
        )
    if not path.is_file():
        raise FileNotFoundError(f"No such file: '{item}'")
    return path
