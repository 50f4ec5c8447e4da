"""Benchmarks from your own programs, which can be run and checked."""

import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkWithSource
from compiler_gym.envs.llvm.benchmarks.bitcode import inline_mandatory
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.own_programs import (
    BenchmarkInput,
    checked_inputs,
    compile_inputs,
    stem_of,
    user_benchmark_uri,
)
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ProgramRun,
    ProgramValidator,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File

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
    links = _commands_for_files(run)
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
        check = ReferenceValidator(options, timeout, (command,), tuple(files))
    else:
        wanted = ProgramRun(
            expected_stdout=expected, command=command, expected_files=expected_files
        )
        check = ProgramValidator([wanted], options)
    return BenchmarkWithSource(
        BenchmarkProto(
            uri=uri,
            program=File(contents=contents),
            dynamic_config=make_program_config(run, link, links, round(timeout)),
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


def _commands_for_files(run: str) -> list[str]:
    """Returns commands that make the files which a command names in another folder."""
    commands = []
    for word in dict.fromkeys(_WORD.findall(run)):
        path = Path(word)
        if path.is_absolute() or ".." in path.parts or path.name == "a.out" or not path.exists():
            continue
        if path.parent != Path():
            commands.append(f"mkdir -p {shlex.quote(str(path.parent))}")
        commands.append(f"ln -sfn {shlex.quote(str(path.absolute()))} {shlex.quote(str(path))}")
    return commands
