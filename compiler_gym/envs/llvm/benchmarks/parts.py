"""Programs taken apart and put together, function by function."""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import link, run_tool
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util import llvm_tools
from compiler_gym.util.filesystem import file_of_uri
from compiler_gym.util.thread_pool import map_in_threads

_NAME = r'@("(?:[^"\\]|\\..)*"|[-\w.$]+)'
_DEFINED_FUNCTION = re.compile(rf"^define [^@\n]*{_NAME}\(", re.MULTILINE)
_DEFINED_VARIABLE = re.compile(
    rf"^{_NAME} = (?!(?:[\w()]+ )*(?:external|extern_weak)\b)[^@\n]*\b(?:global|constant) ",
    re.MULTILINE,
)
_ALIAS = re.compile(rf"^{_NAME} = [^@\n]*\balias [^@\n]*{_NAME}$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")


def split_benchmark_by_function(
    benchmark: Benchmark, maximum_function_count: int = 0, timeout: float = 300
) -> list[Benchmark]:
    """Makes a benchmark of each function of a program, and one of its global variables.

    :func:`merge_benchmarks` of all of them makes the program again; what was internal to it is then
    visible from outside, and the linker may leave out copies of functions that are defined
    elsewhere as well (``available_externally``). They cannot be run or validated.

    Args:
        benchmark: The program.
        maximum_function_count: How many functions to take, the first of the program. 0 for all.
        timeout: Seconds for each of the tools that are run.

    Returns:
        A benchmark for each function that the program defines, with its aliases, in its order;
        then, if it defines global variables, one of these and their initial values. Each has the
        URI of the program with the parameter ``function``, the number of its place in the list.

    Raises:
        ValueError: If the program defines no function, or the count is negative.
        BenchmarkInitError: If the program is not valid.
        EnvironmentNotSupported: If an LLVM tool is not installed.
        subprocess.TimeoutExpired: If a tool takes too long.
    """
    if maximum_function_count < 0:
        raise ValueError(f"expected at least 1 function, got {maximum_function_count}")
    # What has no name cannot be asked for, nor found again when the parts are linked.
    program = run_tool(
        [llvm_tools.opt_path(), "-passes=name-anon-globals", "-o", "-", "-"],
        timeout=timeout,
        stdin=_program_of(benchmark),
    )
    text = run_tool([llvm_tools.llvm_dis_path(), "-o", "-", "-"], timeout=timeout, stdin=program)
    ir = text.decode(errors="surrogateescape")
    names = [_unescaped(match[1]) for match in _DEFINED_FUNCTION.finditer(ir)]
    if not names:
        raise ValueError(f"Benchmark {benchmark} defines no function")
    aliases = _aliases_of_functions(ir, names)
    taken = islice(names, maximum_function_count or None)
    selections = [
        [f"--func={name}", *(f"--alias={alias}" for alias in aliases[name])] for name in taken
    ]
    if _DEFINED_VARIABLE.search(ir):
        # An alias has to be where the function is.
        gone = [f"--alias={alias}" for each in aliases.values() for alias in each]
        selections.append(["--delete", "--rfunc=.*", *gone])

    def extract(selection: Sequence[str]) -> bytes:
        command = [str(llvm_tools.llvm_extract_path()), *selection, "-o", "-", "-"]
        return run_tool(command, timeout=timeout, stdin=program)

    parts = map_in_threads(extract, selections)
    return [_part(benchmark, index, part) for index, part in enumerate(parts)]


def merge_benchmarks(benchmarks: Iterable[Benchmark], timeout: float = 300) -> Benchmark:
    """Makes a benchmark of several programs by linking them.

    Args:
        benchmarks: The programs.
        timeout: Seconds for the linker.

    Returns:
        A benchmark ``benchmark://llvm-link-v0/hash``, with the hash of its bitcode. Its sources are
        those of the programs. It cannot be run or validated.

    Raises:
        ValueError: If there are no programs.
        BenchmarkInitError: If they cannot be linked, e.g. as two of them define the same function.
        EnvironmentNotSupported: If the linker is not installed.
        subprocess.TimeoutExpired: If the linker takes too long.
    """
    benchmarks = list(benchmarks)
    if not benchmarks:
        raise ValueError("No benchmarks to merge: give one or more")
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        paths = [folder / f"{index}.bc" for index in range(len(benchmarks))]
        for path, benchmark in zip(paths, benchmarks, strict=True):
            path.write_bytes(_program_of(benchmark))
        link(paths, folder / "linked.bc", timeout)
        program = (folder / "linked.bc").read_bytes()
    uri = f"benchmark://llvm-link-v0/{hashlib.sha256(program).hexdigest()[:16]}"
    sources = [source for benchmark in benchmarks for source in benchmark.sources]
    proto = BenchmarkProto(uri=uri, program=File(contents=program))
    return Benchmark(proto, sources=sources)


def _aliases_of_functions(ir: str, functions: Iterable[str]) -> dict[str, list[str]]:
    """Returns the aliases of each function, and the aliases of those."""
    aliases: dict[str, list[str]] = {name: [] for name in functions}
    target_of = {_unescaped(match[1]): _unescaped(match[2]) for match in _ALIAS.finditer(ir)}
    for alias, target in target_of.items():
        while target in target_of:
            target = target_of[target]
        if target in aliases:
            aliases[target].append(alias)
    return aliases


def _part(benchmark: Benchmark, index: int, program: bytes) -> Benchmark:
    params = {**benchmark.uri.params, "function": [str(index)]}
    uri = str(replace(benchmark.uri, params=params))
    proto = BenchmarkProto(uri=uri, program=File(contents=program))
    return Benchmark(proto, sources=benchmark.sources)


def _program_of(benchmark: Benchmark) -> bytes:
    """Returns the program of a benchmark, which may be in a file."""
    program = benchmark.proto.program
    if program.WhichOneof("data") == "contents":
        return program.contents
    try:
        return file_of_uri(program.uri).read_bytes()
    except (OSError, ValueError) as error:
        raise BenchmarkInitError(f"Cannot read the program of {benchmark}: {error}") from error


def _unescaped(name: str) -> str:
    """Returns a name without the quotes and escapes of textual IR."""
    if not name.startswith('"'):
        return name
    data = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name[1:-1])
    # What textual IR escapes are bytes.
    return data.encode("latin1", errors="surrogateescape").decode(errors="surrogateescape")
