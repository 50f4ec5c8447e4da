"""Makes benchmarks of the user's own programs."""

import hashlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from compiler_gym.datasets import Benchmark, BenchmarkSource, BenchmarkUri, BenchmarkWithSource
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    PROGRAM_SUFFIXES,
    SOURCE_SUFFIXES,
    ClangInvocation,
    inline_mandatory,
    make_bitcode,
    run_tool,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ProgramRun,
    ProgramValidator,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util import llvm_tools

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


def benchmark_of_program(
    uri: BenchmarkUri, path: Path, copt: Sequence[str] | None = None
) -> Benchmark:
    """Makes the benchmark of a URI from the program in a file. Raises as :func:`make_benchmark`."""
    program, sources = compile_inputs(checked_inputs(path), copt)
    proto = BenchmarkProto(uri=str(uri), program=File(contents=program))
    return BenchmarkWithSource(proto, sources=sources)


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
    return f"benchmark://file-v0{quote(os.fsencode(path.absolute()))}"


def user_benchmark_uri(name: str, program: bytes, *others: bytes) -> str:
    """Returns the URI of a benchmark that is made from the user's input.

    It is that of the program: who makes the same program of the same source elsewhere, in another
    folder or on another machine, gets the same, so that saved states find it there.

    Args:
        name: What it begins with.
        program: Bitcode, or textual IR.
        others: What else makes a difference.
    """
    ir = run_tool([llvm_tools.llvm_dis_path(), "-", "-o", "-"], timeout=600, stdin=program)
    return uri_of_user_ir(name, ir, *others)


def uri_of_user_ir(name: str, ir: bytes, *others: bytes) -> str:
    """Returns :func:`user_benchmark_uri` of a program as textual IR, as LLVM prints it."""
    # The names of the module are those of files, and no part of the program.
    key = hashlib.sha256()
    for line in ir.splitlines():
        if not line.startswith(_NAMES_OF_MODULE):
            key.update(line + b"\n")
    for other in others:
        key.update(b"\0" + other)
    return f"benchmark://user-v0/{quote(os.fsencode(name))}-{key.hexdigest()[:16]}"


def stem_of(inputs: Iterable[object]) -> str:
    """Returns a name for a program: that of its first file, without the suffix."""
    return next((Path(item).stem for item in inputs if isinstance(item, str | Path)), "program")


def _checked_path(item: object) -> Path:
    if not isinstance(item, (str, Path)):
        raise TypeError(
            f"An input must be a path or a ClangInvocation, not {type(item).__name__}: {item!r}"
        )
    path = Path(item).expanduser().absolute()
    if path.suffix not in PROGRAM_SUFFIXES:
        raise ValueError(
            f"Cannot tell the kind of '{item}' from its suffix: name a .bc, .ll, "
            f"{', '.join(SOURCE_SUFFIXES)} file, or pass a ClangInvocation"
        )
    if not path.is_file():
        raise FileNotFoundError(f"No such file: '{item}'")
    return path


# Makes a benchmark of a program of one's own that can be run, and whose results can be checked.

# What a shell takes for the end of a word, unless it is quoted.
_WORD = re.compile(r"[^\s<>|&;()'\"=]+")


def benchmark(
    sources: BenchmarkInput | Iterable[BenchmarkInput],
    run: str = "./a.out",
    expect: str | Path | None = None,
    copt: Sequence[str] = (),
    link: Sequence[str] = (),
    timeout: float = 60,
    files: Iterable[str] | Mapping[str, str | Path] = (),
    confined: bool = True,
) -> Benchmark:
    """Makes a benchmark from your own program, which can be run and checked by its output.

    ::

        program = compiler_gym.benchmark("sort.c", run="./a.out < in.txt", expect="out.txt")
        env.reset(benchmark=program)
        env.multistep(["sroa", "gvn", "loop-unroll"])
        print(env.validate(), env.observation["Runtime"])

    Args:
        sources: C or C++ sources, textual IR or bitcode; several are linked to one module. As of
            :func:`make_benchmark`.
        run: A command for a shell, in an empty folder that has the program as ``a.out``. The files
            and folders that it names are there, too, if the present folder has them now.
        expect: The file that holds what the command must print, byte for byte. By default that is
            what it prints with the program that is not optimised.
        copt: Options of the compiler.
        link: Options of the linker, e.g. ``["-lz"]``. The libraries of C, C++ and mathematics are
            linked anyway.
        timeout: Seconds that building and running may take each for ``Runtime``, and that the
            program that is not optimised may run. Validation has limits of its own otherwise.
        files: The names of files that the command writes and that are to be checked, too. With
            ``expect``, each with the file that holds what must be in it:
            ``{"photo.png": "expected.png"}``.
        confined: Whether the program may use nothing but its folder and the files and folders that
            the command names. False lets it use the network and all files, with your rights.

    Returns:
        A benchmark whose URI says what is in it: ``benchmark://user-v0/sort-1f0c6e1a5ff07b6e``.

    Raises:
        FileNotFoundError: If a source, or the file that is expected, does not exist.
        ValueError: If the command is blank or the timeout not positive, or it is expected what is
            printed but not what is in the files, or the other way round.
        Exception: Any error of :func:`make_benchmark`.
    """
    if not run.strip():
        raise ValueError("The command to run is blank. By default it is './a.out'")
    inputs = checked_inputs(sources)
    program, files_of_source = compile_inputs(inputs, copt)
    expected = None if expect is None else Path(expect).expanduser().absolute()
    if expected is not None and not expected.is_file():
        raise FileNotFoundError(f"There is no file '{expect}' with what is expected")
    files = files if isinstance(files, Mapping | str) else list(files)
    expected_files = _expected_files(files, expected)
    contents = _prepared(program)
    named = _named_files(run)
    links = _commands_for_files(named)
    command = " && ".join([*links, run])
    options = (*LIBRARIES, *link)
    expectation = [] if expected is None else [expected.read_bytes()]
    for name in files:
        expectation.append(name.encode())
    for _, path in expected_files:
        expectation.append(path.read_bytes())
    uri = user_benchmark_uri(stem_of(inputs), contents, command.encode(), *expectation)
    check: ReferenceValidator | ProgramValidator
    if expected is None:
        check = ReferenceValidator(options, timeout, (command,), tuple(files), is_confined=confined)
    else:
        wanted = ProgramRun(
            expected_stdout=expected,
            command=command,
            expected_files=expected_files,
            is_confined=confined,
        )
        check = ProgramValidator([wanted], options)
    return BenchmarkWithSource(
        BenchmarkProto(
            uri=uri,
            program=File(contents=contents),
            dynamic_config=make_program_config(
                run,
                link,
                links,
                round(timeout),
                infiles=[str(path.absolute()) for path in named],
                confined=confined,
            ),
        ),
        validation_callbacks=[validate_against_opt, check],
        sources=files_of_source,
    )


def _expected_files(
    files: Iterable[str] | Mapping[str, str | Path], expected: Path | None
) -> list[tuple[str, Path]]:
    """Returns the files that a command writes, with their expected contents if known."""
    if isinstance(files, str):
        raise TypeError(f"files is a list of names, or a dictionary, not {files!r}")
    is_known = isinstance(files, Mapping)
    if is_known and expected is None:
        raise ValueError("run=... needs expect=..., the expected output of the command")
    if not is_known and expected is not None and list(files):
        raise ValueError(
            "expected the contents of files, got names; try files={'written': 'expected'}"
        )
    if not isinstance(files, Mapping):
        return []
    paths = {name: Path(path).expanduser().absolute() for name, path in files.items()}
    for name, path in paths.items():
        if not path.is_file():
            raise FileNotFoundError(f"There is no file '{files[name]}' with what is expected")
    return list(paths.items())


def _prepared(contents: bytes) -> bytes:
    """Returns a program that links."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        (folder / "input.bc").write_bytes(contents)
        inline_mandatory(folder / "input.bc", folder / "output.bc")
        return (folder / "output.bc").read_bytes()


def _commands_for_files(paths: Sequence[Path]) -> list[str]:
    """Returns commands that make files of the present folder in another one."""
    commands = []
    for path in paths:
        if path.parent != Path():
            commands.append(f"mkdir -p {shlex.quote(str(path.parent))}")
        commands.append(f"ln -sfn {shlex.quote(str(path.absolute()))} {shlex.quote(str(path))}")
    return commands


def _named_files(run: str) -> list[Path]:
    """Returns the files and folders of the present folder that a command names."""
    paths = [Path(word) for word in dict.fromkeys(_WORD.findall(run))]
    return [
        path
        for path in paths
        if not path.is_absolute()
        and ".." not in path.parts
        and path.name != "a.out"
        and path.exists()
    ]
