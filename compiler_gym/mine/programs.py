"""Programs to mine: benchmarks, files, and the sources of a ``compile_commands.json``."""

from dataclasses import dataclass
from pathlib import Path

from compiler_gym.datasets import Datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.compilation import DEFAULT_LEVEL, Compilation
from compiler_gym.tuning.size.compile_commands import ProjectSource, read_compile_commands
from compiler_gym.tuning.size.inputs import known_program
from compiler_gym.util import llvm_tools as tools
from compiler_gym.util.commands import CommandError, run_command

_COMPILE_SECONDS = 600


@dataclass(frozen=True)
class Program:
    """A program that can be mined.

    Attributes:
        name: Its name in tables: a URI or the path of a file.
        source: The source of a project; None for a benchmark.
        why_refused: For a source whose command is not understood, the reason.
    """

    name: str
    source: ProjectSource | None = None
    why_refused: str = ""

    def write(self, datasets: Datasets, folder: Path, level: str = DEFAULT_LEVEL) -> Path:
        """Writes bitcode on which no pass has run.

        Args:
            datasets: Where benchmarks are looked up.
            folder: The folder.
            level: The option of clang for the level of optimisation. Functions are marked for it.

        Raises:
            Exception: Any error of :meth:`Datasets.benchmark`.
            BenchmarkInitError: If the program does not compile.
        """
        if self.why_refused:
            raise BenchmarkInitError(self.why_refused)
        if self.source is None:
            return known_program(datasets, self.name, folder, level == DEFAULT_LEVEL).path
        clang = tools.tool_path("clang++" if self.source.is_cxx else "clang")
        options = (*self.source.options, level, "-g0", "-fno-lto", "-w")
        compilation = Compilation(clang, Path(self.source.source), options)
        unit = folder / "unit.bc"
        try:
            run_command(compilation.unit_command(unit), _COMPILE_SECONDS, cwd=self.source.folder)
        except CommandError as error:
            raise BenchmarkInitError(f"{self.name} does not compile. {error.said}") from error
        return unit


def programs_of_project(path: Path) -> list[Program]:
    """Returns the C and C++ sources of a compilation database. Others are left out.

    Raises:
        ValueError: If the file is not a compilation database.
        OSError: If it cannot be read.
    """
    project = read_compile_commands(path)
    refused = [each for each in project.left if each.is_failure]
    return [
        *(Program(str(each.folder / each.source), each) for each in project.sources),
        *(Program(each.source, why_refused=each.why) for each in refused),
    ]
