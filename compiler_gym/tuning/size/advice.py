"""Options of clang and the linker that no search tries, measured on the linked program.

They change properties that others may rely on: tables for debuggers, exported names, or the kind of
linking. So people decide about them, and each has a note about its risk.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.trial_linking import LinkedSize, LinkError
from compiler_gym.util import llvm_tools
from compiler_gym.util.thread_pool import map_in_threads

_SECONDS = 600
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
_NAMES = ("--defined-only", "--just-symbol-name")
_LLD = "-fuse-ld=lld"


@dataclass(frozen=True)
class Suggestion:
    """Options to try.

    Attributes:
        compiling: Options of clang when it compiles.
        linking: Options of clang when it links.
        risk: The risk, in a sentence.
        needs_lld: True if only LLVM's linker has the options for linking.
    """

    compiling: tuple[str, ...]
    linking: tuple[str, ...]
    risk: str
    needs_lld: bool = False

    @property
    def options(self) -> str:
        """All options, as they are added to a build."""
        return " ".join(dict.fromkeys((*self.compiling, *self.linking)))


SUGGESTIONS = (
    Suggestion(
        ("-fno-asynchronous-unwind-tables",),
        (),
        "No backtraces through these functions for debuggers and profilers, unless built with -g. "
        "C++ exceptions keep working.",
    ),
    Suggestion(
        ("-fvisibility=hidden",),
        (),
        'A shared library offers only what is marked with visibility("default").',
    ),
    Suggestion(
        _SECTIONS,
        ("-Wl,--gc-sections",),
        "What only linker scripts or names at run time refer to is dropped, unless it is kept by "
        "KEEP() or __attribute__((retain)).",
    ),
    Suggestion(
        ("-flto",),
        ("-flto", _LLD),
        "Links take longer, all parts need the same clang, and what only assembly refers to needs "
        "__attribute__((used)).",
        needs_lld=True,
    ),
    Suggestion(
        _SECTIONS,
        (_LLD, "-Wl,--icf=safe"),
        "Debuggers and profilers show one name for several functions that are the same.",
        needs_lld=True,
    ),
    Suggestion(
        _SECTIONS,
        (_LLD, "-Wl,--icf=all"),
        "Different functions may have the same address: programs that compare addresses of "
        "functions go wrong.",
        needs_lld=True,
    ),
    Suggestion(
        ("-fno-plt",),
        (),
        "Functions of shared libraries are looked up when the program starts, which takes longer; "
        "lazy binding is off.",
    ),
)
"""What is measured."""


@dataclass(frozen=True)
class Measured:
    """A suggestion and its measured sizes.

    Attributes:
        suggestion: The suggestion.
        before: The size without it, with the same linker; None if linking failed.
        after: The size with it; None if linking failed.
        why: The reason of the failure; empty if there was none.
    """

    suggestion: Suggestion
    before: LinkedSize | None = None
    after: LinkedSize | None = None
    why: str = ""

    @property
    def saved(self) -> int | None:
        """The loaded bytes that it saves; negative if the program grows, None if not measured."""
        return self.before.loaded - self.after.loaded if self.before and self.after else None


class Adviser:
    """Compiles and links a program with each suggestion.

    Args:
        sources: The files to link: C or C++ sources, textual IR or bitcode.
        options: The user's options of clang, for compiling and for linking.
        libraries: Options for the linker at the end of the command.
        folder: A scratch folder.
        jobs: The number of compilers at a time.
    """

    def __init__(
        self,
        sources: Sequence[Path],
        options: Sequence[str],
        folder: Path,
        libraries: Sequence[str] = LIBRARIES,
        jobs: int = 1,
    ):
        self._sources = sources
        self._compilation = Compilation(llvm_tools.clang_path(), sources[0], tuple(options))
        self._libraries = libraries
        self._folder = folder
        self._jobs = jobs
        self._objects: dict[tuple[str, ...], list[Path]] = {}
        self._sizes: dict[tuple[tuple[str, ...], tuple[str, ...]], LinkedSize] = {}

    @property
    def level(self) -> str:
        """The level of optimisation."""
        return self._compilation.level

    @cached_property
    def is_library(self) -> bool:
        """True if the sources have no ``main``. They are then linked as a shared library.

        Raises:
            BenchmarkInitError: If a source does not compile. The text says why.
        """
        command: list[str | Path] = [llvm_tools.tool_path("llvm-nm"), *_NAMES]
        names = run_tool([*command, *self._compiled(())], _SECONDS).decode(errors="replace")
        return "main" not in names.split()

    def size(self) -> LinkedSize:
        """Returns the size of the program without suggestions.

        Raises:
            BenchmarkInitError: If a source does not compile. The text says why.
            LinkError: If they do not link. The text says why.
        """
        return self._size((), ())

    def measure(self, suggestion: Suggestion) -> Measured:
        """Measures a suggestion."""
        linker = (_LLD,) if suggestion.needs_lld else ()
        try:
            before = self._size((), linker)
            after = self._size(suggestion.compiling, suggestion.linking)
        except (BenchmarkInitError, EnvironmentNotSupported, ValueError) as error:
            return Measured(suggestion, why=str(error))
        return Measured(suggestion, before, after)

    def _size(self, compiling: tuple[str, ...], linking: tuple[str, ...]) -> LinkedSize:
        kind = ("-shared",) if self.is_library else ()
        key = compiling, linking
        if key not in self._sizes:
            *others, last = self._compiled((*compiling, *(["-fPIC"] if kind else [])))
            options = (*kind, *self._compilation.options, self.level, *linking, *self._libraries)
            linker = Linker(None, options, before=tuple(others))
            try:
                self._sizes[key] = linker.size(last)
            except LinkError as error:
                raise LinkError(str(error).partition(". Name a command")[0]) from error
        return self._sizes[key]

    def _compiled(self, options: tuple[str, ...]) -> list[Path]:
        """Returns the object files that clang makes with additional options."""
        if options not in self._objects:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            files = [folder / f"{number}.o" for number in range(len(self._sources))]
            pairs = zip(self._sources, files, strict=True)
            map_in_threads(lambda pair: self._compile(options, *pair), pairs, self._jobs)
            self._objects[options] = files
        return self._objects[options]

    def _compile(self, options: tuple[str, ...], source: Path, output: Path) -> None:
        words = (*self._compilation.options, *options)
        compilation = replace(self._compilation, source=source, options=words)
        run_tool(compilation.command(output), _SECONDS)
