"""The parts of a program for ``compiler-gym optimize --objective linked``."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from compiler_gym.cli.console import working_on
from compiler_gym.cli.optimize_program import Settings
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.util.shell_format import plural

_SECONDS = 3600


class Parts:
    """The object files of a program. One at a time is optimised.

    Args:
        files: The current object file of each part.
        linker: Links them.
    """

    def __init__(self, files: Sequence[Path], linker: Linker):
        self._files = [*files]
        self._linker = linker

    def linker(self, index: int) -> Linker:
        """Returns a linker that replaces the object file of a part."""
        before, after = self._files[:index], self._files[index + 1 :]
        return replace(self._linker, before=tuple(before), after=tuple(after))

    def replace(self, index: int, file: Path) -> None:
        """Replaces the object file of a part."""
        self._files[index] = file.absolute()


@contextmanager
def parts_of_program(inputs: Sequence[tuple[Input, Path]], settings: Settings) -> Iterator[Parts]:
    """Compiles the parts of a program unchanged, for the duration of the context.

    Args:
        inputs: The parts.
        settings: The settings for compiling and linking.

    Raises:
        BenchmarkInitError: If one does not compile. The text has the reason.
    """
    linker = settings.linker
    first = inputs[0][0]
    if first.validator is not None:
        linker = replace(linker, libraries=first.validator.linker_options)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        files = [Path(folder) / f"{number}.o" for number in range(len(inputs))]
        if len(inputs) > 1:
            with working_on(f"compiling {plural(len(inputs), 'part')}"):
                for (program, _), file in zip(inputs, files, strict=True):
                    _compile(program, settings, file)
        yield Parts(files, linker)


def _compile(program: Input, settings: Settings, file: Path) -> None:
    compilation = Compilation(tools.clang_path(), program.path, settings.options)
    run_tool(compilation.command(file), _SECONDS)
