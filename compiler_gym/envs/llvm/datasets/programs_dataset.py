"""Whole command line programs, built from source distributions of the Python package index."""

import json
import shlex
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Benchmark, BenchmarkUri
from compiler_gym.datasets.uri import run_number
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    bitcode_made_once,
    inline_mandatory,
    key_of_bitcode,
    make_bitcode,
    make_once,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ProgramRun,
    ProgramValidator,
    validate_against_opt,
)
from compiler_gym.envs.llvm.datasets.opensource_dataset import packages_of
from compiler_gym.envs.llvm.datasets.packages import PackagedDataset, SourceDistribution
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util.runfiles_path import runfiles_path

FOLDER = runfiles_path("compiler_gym/data/programs-v0")
"""``programs.json``, and for each program a folder with ``expected-N.txt`` and its inputs."""

_MADE = ".made"
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Program:
    """A command line program.

    Attributes:
        name: The name in URIs.
        description: A short description.
        license: The licence, as the package states it.
        package: The name of the package in the index.
        file: The name of the archive.
        sha256: The checksum of the archive in hexadecimal.
        runs: Commands for a shell in an empty folder that has the program as ``a.out``. Command N
            must print the contents of ``expected-N.txt``. ``{package}`` is the folder of the
            package, ``{data}`` that of the program in :data:`FOLDER`.
        root: The folder in the package that the other paths refer to.
        sources: Patterns of the source files. A pattern that begins with ``!`` excludes files.
        include: Folders with headers.
        define: Macros to define: ``"NAME"`` or ``"NAME=VALUE"``.
        options: Further options of the compiler.
        copy: Files that a build would copy: a mapping from the old to the new name.
        write: Files that a build would write: a mapping from name to contents.
        link: Options of the linker.
    """

    name: str
    description: str
    license: str
    package: str
    file: str
    sha256: str
    runs: tuple[str, ...]
    root: str = "."
    sources: tuple[str, ...] = ("*.c",)
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    copy: Mapping[str, str] = field(default_factory=dict)
    write: Mapping[str, str] = field(default_factory=dict)
    link: tuple[str, ...] = ()

    @property
    def distribution(self) -> SourceDistribution:
        """The distribution that the package is downloaded from."""
        return SourceDistribution(self.package, self.file, self.sha256)

    def all_options(self) -> list[str]:
        """Returns the options of the compiler."""
        options = [*ClangInvocation.DEFAULT_COPT, "-w", "-ferror-limit=1"]
        options += self.options
        options += [f"-I{folder}" for folder in (f"{_MADE}/{self.name}", *self.include)]
        return [*options, *(f"-D{macro}" for macro in self.define)]

    def compilations(self, root: Path) -> list[ClangInvocation]:
        """Returns the compilations of the sources in :attr:`root`, after :meth:`make_files`."""
        options = self.all_options()
        return [
            ClangInvocation([*options, file], timeout=_TIMEOUT_SECONDS)
            for file in self._files(root)
        ]

    def _files(self, root: Path) -> list[str]:
        files: list[str] = []
        for pattern in (*self.sources, f"{_MADE}/{self.name}/*.c"):
            if pattern.startswith("!"):
                files = [file for file in files if not fnmatch(file, pattern[1:])]
            else:
                files += sorted(path.relative_to(root).as_posix() for path in root.glob(pattern))
        return files

    def make_files(self, root: Path) -> None:
        """Writes the files that a build would write."""
        made = {new: (root / old).read_bytes() for new, old in self.copy.items()}
        made |= {name: text.encode() for name, text in self.write.items()}
        for name, contents in made.items():
            make_once(root / _MADE / self.name / name, partial(_write, contents))


def _write(contents: bytes, path: Path) -> None:
    path.write_bytes(contents)


class ProgramsDataset(PackagedDataset):
    """Whole programs with runs and expected results.

    ``benchmark://programs-v0/lua`` is the interpreter of Lua: all its files in one module, with
    ``main()``. On first use the package is downloaded and compiled by the installed clang. The
    bitcode is kept in the site data folder. The parameter
    ``dataset`` selects the run that the ``Runtime`` observation measures, the first by default.
    Validation makes all runs.

    Args:
        site_data_base: The folder for packages and bitcode.
        sort_order: Datasets are listed by this number.
        folder: The folder of the facts, inputs and expected outputs.
    """

    def __init__(self, site_data_base: str | Path, sort_order: int = 0, folder: Path = FOLDER):
        super().__init__(
            name="benchmark://programs-v0",
            description="Whole command line programs with inputs and expected outputs",
            license="Several: see programs[name].license",
            site_data_base=site_data_base,
            sort_order=sort_order,
            validatable="Yes",
            runnable="Yes",
            source="Python package index",
        )
        self._folder = folder

    @property
    def programs(self) -> dict[str, Program]:
        """The programs by name."""
        return _programs_of(self._folder)

    @property
    def size(self) -> int:
        """The number of programs."""
        return len(self.programs)

    def distributions(self) -> Iterator[SourceDistribution]:
        """Iterates over the packages, as they are fetched."""
        return (program.distribution for program in self.programs.values())

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of the programs, by name."""
        return (f"{self.name}/{name}" for name in self.programs)

    def part_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the part of the same package in ``opensource-v0``, if there is one."""
        program = self.programs.get(BenchmarkUri.from_string(str(uri)).path.removeprefix("/"))
        package = program and packages_of().get(program.package)
        return package.part if package else super().part_of(uri)

    def package_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the package of a program; empty if there is no such program."""
        program = self.programs.get(BenchmarkUri.from_string(str(uri)).path.removeprefix("/"))
        return program.package if program else ""

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks."""
        program = self.programs.get(uri.path.removeprefix("/"))
        found = program and self.fingerprint_of_package(program.distribution)
        return found and (found, self._folder)

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns true if there is such a program. Downloads and compiles nothing."""
        program = self.programs.get(uri.path.removeprefix("/"))
        try:
            return program is not None and run_number(uri, len(program.runs)) >= 0
        except ValueError:
            return False

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. Downloads and compiles its package if necessary.

        Raises:
            LookupError: There is no such program.
            ValueError: The URI has a parameter other than ``dataset``, or its value is not the
                number of a run.
            DatasetInitError: The package cannot be fetched, unpacked or stored.
            BenchmarkInitError: The program does not compile with this clang, on this machine.
            EnvironmentNotSupported: clang is not installed.
        """
        self._check_own(uri)
        program = self.programs.get(uri.path.removeprefix("/"))
        if program is None:
            raise unknown_name("benchmark", uri, self.benchmark_uris())
        number = run_number(uri, len(program.runs))
        package = self.unpacked(program.distribution)
        data = self._folder / program.name
        places = {"package": shlex.quote(str(package)), "data": shlex.quote(str(data))}
        # Not format(), because the shell uses braces.
        commands = list(program.runs)
        for name, path in places.items():
            commands = [command.replace(f"{{{name}}}", path) for command in commands]
        runs = [
            ProgramRun(expected_stdout=data / f"expected-{i}.txt", command=command)
            for i, command in enumerate(commands)
        ]
        return Benchmark(
            BenchmarkProto(
                uri=str(uri),
                program=File(contents=self._bitcode(program, package)),
                dynamic_config=make_program_config(
                    commands[number], program.link, timeout=_TIMEOUT_SECONDS
                ),
            ),
            validation_callbacks=[
                validate_against_opt,
                ProgramValidator(runs, (*LIBRARIES, *program.link)),
            ],
        )

    def _bitcode(self, program: Program, package: Path) -> bytes:
        """Returns the unoptimised bitcode of a program, compiled and linked now or earlier."""
        facts = asdict(program) | {"runs": (), "options": program.all_options()}
        key = key_of_bitcode(json.dumps(facts, sort_keys=True))

        def make(output: Path) -> None:
            root = package / program.root
            program.make_files(root)
            with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
                inputs = program.compilations(root)
                linked = make_bitcode(inputs, Path(folder), _TIMEOUT_SECONDS, cwd=root)
                inline_mandatory(linked, output, _TIMEOUT_SECONDS)

        path = self.site_data_path / "bitcode" / f"{program.name}-{key}.bc"
        return bitcode_made_once(path, f"{program.name} of {self.name}", make)


@cache
def _programs_of(folder: Path) -> dict[str, Program]:
    programs = {}
    for facts in json.loads((folder / "programs.json").read_text(encoding="utf-8")):
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()
        }
        programs[facts["name"]] = Program(**values)
    return programs
