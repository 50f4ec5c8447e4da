"""A build by the command line of a compiler, as clang's own list of jobs.

clang reads the command line, with its response files and configuration files, and lists its jobs:
see :mod:`compiler_gym.util.clang_driver`. Jobs that run here have outputs that the caller names.
Commands with jobs that are not understood are refused.
"""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util.clang_driver import (
    OVERRIDES,
    WRITING_VARIABLES,
    Job,
    NotUnderstoodError,
    jobs_of,
)

# Options that only make further files, by the beginning, as a regular expression. clang itself
# replaces them, also in response files. Records of optimisations would add debug information.
_DROPPED = ("--?save-temps", "-fsave-optimization-record", "-foptimization-record-")
_HARMLESS = "-Qunused-arguments"

# Code comes from one compiler in one step, without optimisation at link time.
_PLAIN = ("-fno-lto", "-fintegrated-as")

# -O0 would forbid to optimise all functions.
_DEFAULT_LEVEL = "-O2"
_LEVELS = frozenset(f"-O{level}" for level in ("1", "2", "3", "s", "z", "g"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPILING = _words("-emit-obj -S -emit-llvm-bc -emit-llvm")
_KEPT_PASSES = ("-disable-llvm-passes",)
_BITCODE = ("-emit-llvm-bc", "-emit-llvm-uselists", *_KEPT_PASSES)
# As users write them, to name them in errors.
_WITHOUT_CODE = _words("-E -M -MM -fsyntax-only -### --analyze --precompile -emit-ast")

_ASSEMBLER = "-cc1as"
_DEBUG_OUTPUT = "-split-dwarf-output"
_LINKER = re.compile(r"(.*-)?(ld|ld\.\w+|lld|mold)(-\d+)?")

# Options of linkers that write no file, with the value in the next word and without one. Others are
# refused. The second dash of long options is optional.
_LINKER_VALUES = _words(
    "L T defsym dynamic-linker dynamic-list e entry exclude-libs export-dynamic-symbol fini h init"
    " l m retain-symbols-file rpath rpath-link script section-start soname sysroot u undefined"
    " version-script wrap y z Ttext Tdata Tbss image-base"
)
_LINKER_FLAGS = _words(
    "( ) Bdynamic Bstatic Bsymbolic Bsymbolic-functions E EB EL M N O S X add-needed"
    " allow-multiple-definition allow-shlib-undefined as-needed build-id color-diagnostics"
    " compress-debug-sections copy-dt-needed-entries cref d demangle disable-new-dtags"
    " discard-all discard-locals dynamic-list-cpp-new dynamic-list-data eh-frame-hdr"
    " emit-relocs enable-new-dtags end-group end-lib error-unresolved-symbols export-dynamic"
    " fatal-warnings fix-cortex-a53-835769 fix-cortex-a53-843419 gc-sections gdb-index hash-style"
    " icf keep-memory n new-dtags nmagic nostdlib omagic pack-dyn-relocs pie pop-state print-map"
    " print-gc-sections push-state q r relax relocatable s shared sort-common sort-section"
    " start-group start-lib stats static strip-all strip-debug t threads trace undefined-version"
    " unresolved-symbols use-android-relr-tags v verbose warn-common warn-mismatch warn-once"
    " no-dynamic-linker no-undefined warn-rwx-segments warn-execstack"
    " warn-unresolved-symbols whole-archive x"
)
_LINKER_CHOICES = _words(
    "build-id color-diagnostics compress-debug-sections demangle hash-style icf pack-dyn-relocs"
    " sort-common sort-section threads unresolved-symbols"
)
_LINKER_JOINED = re.compile(r"-[LOTluyz][^=]+")
# These write further files, which nobody needs here.
_LINKER_OUTPUTS = frozenset(("Map", "dependency-file"))


@dataclass(frozen=True)
class BuildCommand:
    """The jobs of a compiler's command line.

    Attributes:
        text: The command line.
        folder: The folder that relative names refer to.
        compilations: The compilations of sources, in order; at least one.
        others: The other jobs, such as those of assembly sources; the last one may link.
        output: The file that the command line writes.
    """

    text: str
    folder: Path
    compilations: tuple[Job, ...]
    others: tuple[Job, ...]
    output: str

    @property
    def sources(self) -> list[str]:
        """The sources, as written in the command line."""
        return [job.inputs[0].path for job in self.compilations]

    def bitcode_command(self, index: int, output: Path) -> list[str]:
        """Returns the command that makes unoptimised bitcode of a source.

        Args:
            index: The index of the source.
            output: The file that the command writes. It writes no other.
        """
        job = self.compilations[index]
        (source,) = job.inputs
        return _compilation(job, _BITCODE, source.language, source.path, str(output))

    def finish_commands(self, program: str, output: str, scratch: str) -> list[list[str]]:
        """Returns the commands that build the output of the command line from bitcode.

        Args:
            program: The bitcode file that replaces the sources.
            output: The file to be written.
            scratch: The beginning of the paths of temporary files.
        """
        first = self.compilations[0]
        (action,) = first.actions
        actions = (action, *_KEPT_PASSES)
        if not self.others:
            return [_compilation(first, actions, "ir", program, output)]
        *others, link = self.others
        places = {job.output: f"{scratch}{index}.o" for index, job in enumerate([first, *others])}
        left_out = {job.output for job in self.compilations[1:]}
        words = [word for word in link.words if word not in left_out]
        return [
            _compilation(first, actions, "ir", program, places[first.output]),
            *(_redirected(job, places[job.output], places) for job in others),
            _redirected(replace(link, words=tuple(words)), output, places),
        ]


def parse_build_command(
    command: str | Sequence[str],
    clang: Path | None = None,
    options: Sequence[str] = (),
    folder: Path | None = None,
) -> BuildCommand:
    """Asks clang for the jobs of a command line. Nothing runs.

    Args:
        command: The command line as for a shell, or its words.
        clang: The clang that reads it; by default the first word of the command line, which must be
            a clang then.
        options: Further options of clang.
        folder: The folder that relative names refer to; by default the current one.

    Raises:
        ValueError: If the command line is empty, has no source, reads its source from the standard
            input, produces no code, writes one file for each of several sources, or has an
            option whose effect is not known.
        BenchmarkInitError: If clang refuses it.
    """
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if not words:
        raise ValueError("The compiler command is empty")
    text = shlex.join(words)
    if len(words) == 1:
        raise ValueError(f"The compiler command '{text}' has no arguments: it needs a source file")
    reader = _Reader(text, words, clang or _driver(words[0]), folder or Path(os.getcwd()))
    return reader.read(options)


def _driver(name: str) -> Path:
    return Path(shutil.which(name) or name)


def _asking_environment() -> Mapping[str, str]:
    """Returns the environment variables, without those by which clang writes further files."""
    kept = {name: value for name, value in os.environ.items() if name not in WRITING_VARIABLES}
    edits = [kept.get(OVERRIDES, "#"), *(f"s/^{each}.*$/{_HARMLESS}/" for each in _DROPPED)]
    return {**kept, OVERRIDES: " ".join(edits)}


def _compilation(
    job: Job, actions: Sequence[str], language: str, source: str, output: str
) -> list[str]:
    """Returns a command of the compiler proper with other actions, another input and output."""
    options = [word for option in job.options for word in option]
    named = ["-x", language] if language else []
    return [job.program, "-cc1", *options, *actions, "-o", output, *named, source]


def _redirected(job: Job, output: str, places: Mapping[str, str]) -> list[str]:
    """Returns the command of a job with another output, and other names of temporary files."""
    if job.is_cc1:
        (source,) = job.inputs
        path = places.get(source.path, source.path)
        return _compilation(job, job.actions, source.language, path, output)
    words = [places.get(word, word) for word in job.words]
    place = words.index("-o")
    words[place + 1] = output
    if _DEBUG_OUTPUT in words:
        place = words.index(_DEBUG_OUTPUT)
        del words[place : place + 2]
    return [job.program, *words]


class _Reader:
    """Checks the jobs of a command line."""

    def __init__(self, text: str, words: Sequence[str], clang: Path, folder: Path):
        self._text = text
        self._words = words
        self._clang = clang
        self._folder = folder

    def read(self, options: Sequence[str]) -> BuildCommand:
        jobs = self._jobs(options)
        compilations = [job for job in jobs if _compiles(job)]
        others = [job for job in jobs if not _compiles(job)]
        for job in compilations:
            self._check_compilation(job)
        self._check_sources(compilations, others)
        for job in others[:-1]:
            self._check_assembly(job)
        if others:
            others[-1] = self._checked_link(others[-1])
        output = (others or compilations)[-1].output
        return BuildCommand(self._text, self._folder, tuple(compilations), tuple(others), output)

    def _jobs(self, options: Sequence[str]) -> list[Job]:
        # Names behind "--" may begin with a dash, which the jobs would take for options.
        words = list(self._words[1:])
        place = words.index("--") if "--" in words else len(words)
        names = [f"./{word}" if word.startswith("-") else word for word in words[place + 1 :]]
        rest = [*words[place : place + 1], *names]
        words = [*options, *words[:place]]
        try:
            # The last word may lack its value, which must not be one of ours.
            jobs = self._ask([*words, *rest])
            is_plain = any(_compiles(job) and _LEVELS.isdisjoint(job.words) for job in jobs)
            level = [_DEFAULT_LEVEL] if is_plain else []
            return self._ask([*words, *_PLAIN, *level, *rest])
        except NotUnderstoodError as error:
            raise BenchmarkInitError(
                f"expected a command line of clang, got '{self._text}': {error}"
            ) from error

    def _ask(self, words: Sequence[str]) -> list[Job]:
        return jobs_of(self._clang, words, self._folder, _asking_environment())

    def _check_compilation(self, job: Job) -> None:
        if job.unknown:
            raise self._error(
                f"has '{job.unknown[0]}', which may write files, or is not known: leave it out"
            )
        if not job.output:
            raise self._error("has several outputs: name one, with -o")
        if len(job.inputs) != 1 or len(job.actions) != 1:
            raise self._error("compiles several files in one job: use a command for each of them")
        if job.inputs[0].path == "-":
            raise self._error(
                "reads its source from the standard input: write the source to a file and name the "
                "file"
            )

    def _check_sources(self, compilations: Sequence[Job], others: Sequence[Job]) -> None:
        if not compilations:
            action = next((word for word in self._words if word in _WITHOUT_CODE), "")
            actions = [each for job in others if job.is_cc1 for each in job.actions]
            if action or actions:
                action = action or actions[0]
                raise self._error(f"produces no code because of {action}: remove it")
            raise self._error(
                "has no source file: it needs a .c, .cc, .cpp, ... file among its arguments"
            )
        if "-###" in self._words:
            raise self._error("produces no code because of -###: remove it")
        if not others and len(compilations) > 1:
            raise self._error(
                f"compiles {len(compilations)} sources to as many files: use one command for each "
                "source, or link them"
            )
        targets = {tuple(_values(job.words, "-triple")) for job in compilations}
        if len(targets) > 1 or any("-aux-triple" in job.words for job in compilations):
            raise self._error("compiles for several targets: name one")

    def _check_assembly(self, job: Job) -> None:
        is_preprocessor = job.is_cc1 and job.actions == ("-E",) and not job.unknown
        is_assembler = job.words[:1] == (_ASSEMBLER,)
        if not (is_preprocessor or is_assembler) or not job.output:
            raise self._error(
                f"needs {Path(job.program).name} besides a compiler and a linker: leave it out"
            )

    def _checked_link(self, job: Job) -> Job:
        """Returns the job of the linker, without further outputs."""
        if not _LINKER.fullmatch(Path(job.program).name):
            raise self._error(
                f"ends with {Path(job.program).name}: expected a compiler or a linker"
            )
        if not job.output:
            raise self._error("gives the linker several outputs: name one, with -o")
        kept: list[str] = []
        words = iter(job.words)
        for word in words:
            name, equals, _ = word.lstrip("-").partition("=")
            has_value = word.startswith("-") and not equals and name in _LINKER_VALUES
            if name in _LINKER_OUTPUTS and word.startswith("-"):
                if not equals:
                    next(words, None)
            elif word == "-o" or has_value:
                kept += [word, next(words, "")]
            elif word.startswith("@") or not _is_harmless(word):
                raise self._error(
                    f"gives the linker '{word}', which may write files, or is not known: leave it "
                    "out"
                )
            else:
                kept.append(word)
        return replace(job, words=tuple(kept))

    def _error(self, text: str) -> ValueError:
        return ValueError(f"The compiler command '{self._text}' {text}")


def _compiles(job: Job) -> bool:
    return job.is_cc1 and not _COMPILING.isdisjoint(job.actions)


def _is_harmless(word: str) -> bool:
    """Returns true if a word of a linker, whose value is not the next word, writes no file."""
    name, equals, _ = word.lstrip("-").partition("=")
    if not word.startswith("-"):
        return True
    if equals:
        return name in _LINKER_CHOICES or name in _LINKER_VALUES
    is_flag = name in _LINKER_FLAGS or name.removeprefix("no-") in _LINKER_FLAGS
    return is_flag or bool(_LINKER_JOINED.fullmatch(word))


def _values(words: Sequence[str], option: str) -> list[str]:
    return [words[index + 1] for index, word in enumerate(words[:-1]) if word == option]
