"""The commands of clang whose object files ``compiler-gym-cc`` makes smaller."""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from typing_extensions import override

from compiler_gym.cli import wrapper_settings as settings
from compiler_gym.cli.probes import is_of_probe
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import (
    OVERRIDES,
    Job,
    NotUnderstoodError,
    has_readable_files,
    is_ordinary_file,
    jobs_of,
)

# These describe the run of clang. Other side outputs describe the machine code, which would not be
# theirs any more if the object file were replaced.
_ABOUT_THE_RUN = (
    *("-dependency-file", "-dependency-dot", "-module-dependency-dir", "-header-include-file"),
    *("-diagnostic-log-file", "-serialize-diagnostic-file", "-stats-file=", "-ftime-trace="),
)
# Code that is measured, or checked as it runs, or that another step compiles.
_SPECIAL_CODE = (
    *("-fsanitize", "-fprofile", "-fcs-profile", "-fcoverage-mapping", "-fmemory-profile"),
    *(
        "-coverage-",
        "-fxray",
        "-flto",
        "-ffat-lto",
        "-fthinlto",
        "-fembed",
        "-fcuda",
        "-fopenmp-is",
    ),
)
# With these, paths or the output have another meaning.
_OTHER_FILES = ("-working-directory", "-fno-temp-file")

# Options that change the command in ways that its words do not show.
_ARGUMENT_FILES = ("@", "--config")

# Options of the driver with a value in a word of its own.
_OUTPUTS_WITH_VALUE = ("-o", "--output", "-MF", "-MT", "-MQ", "-MJ")
_OUTPUTS = (*_OUTPUTS_WITH_VALUE, "-MD", "-MMD", "-MP", "-Wp,-M")
_WITH_VALUE = (
    *("-I", "-D", "-U", "-F", "-include", "-imacros", "-include-pch", "-isystem", "-iquote", "-x"),
    *("-idirafter", "-isysroot", "--sysroot", "-Xclang", "-Xpreprocessor", "-Xassembler", "-mllvm"),
    *("-target", "--target", "-arch", "--param", "-T", "-u", "-z", "-Xlinker"),
)
_MODE = ("-c", "--compile")

# Options of ``clang -cc1`` that only apply to sources, and have no effect on their bitcode.
_OF_SOURCES = frozenset(
    [
        "-D",
        "-U",
        "-I",
        "-F",
        "-include",
        "-imacros",
        "-include-pch",
        "-chain-include",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-internal-isystem",
        "-internal-externc-isystem",
        "-internal-iframework",
        "-c-isystem",
        "-cxx-isystem",
        "-objc-isystem",
        "-objcxx-isystem",
        "-iprefix",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-iwithsysroot",
        "-isysroot",
        "-iframework",
        "-iframeworkwithsysroot",
        "-resource-dir",
        "-ivfsoverlay",
        "-vfsoverlay",
        "-remap-file",
        "-nostdsysteminc",
        "-nobuiltininc",
        "-nostdinc++",
        "-undef",
    ]
)
_FOLDERS = ("-fdebug-compilation-dir=", "-fcoverage-compilation-dir=", "-I", "-D", "-U")
# Options about messages and dependencies, which the private commands do not write.
_OF_MESSAGES = frozenset(
    ["-MT", "-MQ", "-MP", "-MG", "-MV", "-sys-header-deps", "-H", "-v", "-print-stats"]
)
_ABOUT_MESSAGES = ("-header-include-", "-stats-file-", "-ftime-")


class NotForSizeError(Exception):
    """A command whose object file stays as clang makes it.

    Attributes:
        words: The arguments of clang with the expected level; None for those of the user.
    """

    def __init__(self, why: str, words: Sequence[str] | None = None):
        super().__init__(why)
        self.words = words


@dataclass(frozen=True)
class UnitCommand:
    """A command that compiles one source to an object file.

    Attributes:
        clang: The driver.
        words: Its arguments.
        job: The job that clang makes of the command.
    """

    clang: Path
    words: tuple[str, ...]
    job: Job

    @property
    def source(self) -> str:
        """The path of the source, as the command names it."""
        return self.job.inputs[0].path

    @property
    def output(self) -> Path:
        """The object file."""
        return Path(self.job.output)

    @property
    def options(self) -> list[str]:
        """The arguments without the source and the outputs, and with the expected level."""
        wanted = settings.level()
        kept, words = [], iter(without_outputs([*_expanded(self.words)]))
        for word in words:
            if word in _WITH_VALUE:
                kept += [word, next(words, "")]
            elif word not in (*_MODE, self.source, "--") and not (wanted and word.startswith("-O")):
                kept.append(word)
        return [*([wanted] if wanted else []), *kept]

    @property
    def architecture(self) -> str:
        """The architecture of the target, as the triple names it."""
        triples = (option[1] for option in self.job.options if option[0] == "-triple")
        return next(triples, "").partition("-")[0]

    @property
    def is_for_libraries(self) -> bool:
        """True if the code is for shared libraries."""
        return "-pic-level" in self.job.words and "-pic-is-pie" not in self.job.words

    @property
    def options_of_job(self) -> list[str]:
        """The options of the job, without those about messages and dependencies."""
        return _flat(each for each in self.job.options if not _is_about_messages(each[0]))

    @property
    def code_options(self) -> list[str]:
        """The options of the job that have an effect on the code of bitcode."""
        return _flat(
            each
            for each in self.job.options
            if each[0] not in _OF_SOURCES
            and not each[0].startswith(_FOLDERS)
            and not _is_about_messages(each[0])
        )

    @property
    def source_words(self) -> list[str]:
        """The arguments of the job that name the source."""
        (source,) = self.job.inputs
        return [*(["-x", source.language] if source.language else []), source.path]

    def bitcode_command(self, bitcode: Path) -> list[str]:
        """Returns the command that makes unoptimised bitcode of the source, and nothing else."""
        stop = ["-emit-llvm-bc", "-disable-llvm-passes", "-o", str(bitcode)]
        return [str(self.clang), "-cc1", *self.options_of_job, *stop, *self.source_words]

    def compilation(self) -> "UnitCompilation":
        """Returns the compilation of the source and its bitcode."""
        return UnitCompilation(
            *(self.clang, Path(self.source), tuple(self.options), llvm_tools.own_passes_path()),
            settings.limits(),
            unit=self,
        )


@dataclass(frozen=True)
class UnitCompilation(Compilation):
    """The compilation of the source of a command, by the job that clang makes of it.

    Attributes:
        unit: The command.
    """

    unit: UnitCommand = field(kw_only=True)

    @cached_property
    def level(self) -> str:
        """The level of optimisation."""
        return _level(self.unit.job)

    @override
    def command(self, output: Path, change: Change = NO_CHANGE) -> list[str]:
        return self._cc1(self.unit.options_of_job, self.unit.source_words, output, change)

    @override
    def command_of_unit(self, unit: Path, output: Path, change: Change = NO_CHANGE) -> list[str]:
        return self._cc1(self.unit.code_options, ["-x", "ir", str(unit)], output, change)

    def _cc1(
        self, options: Sequence[str], source: Sequence[str], output: Path, change: Change
    ) -> list[str]:
        changed = [word for word in self.arguments(change) if word != "-Xclang"]
        words = [str(self.clang), "-cc1", *options, *changed]
        return [*words, "-emit-obj", *source, "-o", str(output)]


def command_for_size(clang: Path, words: Sequence[str], has_own_level: bool = False) -> UnitCommand:
    """Returns a command, if it only compiles one source to an object file, for size.

    Args:
        clang: The driver.
        words: Its arguments.
        has_own_level: Keep the level of the command, even if another one is expected.

    Raises:
        NotForSizeError: If it does something else. The text has the reason.
        WrongSettingError: If the expected level is wrong.
    """
    level = settings.level()
    _check_words(words, level)
    if level and not has_own_level:
        words = [*words, level]
    try:
        jobs = jobs_of(clang, words, Path.cwd())
    except (NotUnderstoodError, OSError) as error:
        raise NotForSizeError(str(error)) from error
    if len(jobs) != 1 or jobs[0].actions != ("-emit-obj",):
        raise NotForSizeError("no object file of one source")
    if why := _why_not_searched(jobs[0]):
        raise NotForSizeError(why, words)
    if not level and _level(jobs[0]) not in settings.LEVELS:
        raise NotForSizeError("neither -Os nor -Oz")
    return UnitCommand(clang, tuple(words), jobs[0])


def _check_words(words: Sequence[str], level: str | None) -> None:
    """Refuses commands that are plainly of another kind, or with arguments that are read once.

    Raises:
        NotForSizeError: For those.
    """
    is_open = any(word.startswith(_ARGUMENT_FILES) for word in words)
    if not is_open and not only_compiles(words):
        raise NotForSizeError("no -c")
    is_open = is_open or bool(level) or OVERRIDES in os.environ
    if not is_open and not any(word in settings.LEVELS for word in words):
        raise NotForSizeError("neither -Os nor -Oz")
    if level and "--" in words:
        raise NotForSizeError(f"-- does not allow to add {level} at the end")
    if not has_readable_files(words, Path.cwd()):
        raise NotForSizeError("arguments in a file that may be read once")


def only_compiles(words: Sequence[str]) -> bool:
    """Returns true if a command plainly ends before it links."""
    return any(word in _MODE for word in words)


def _why_not_searched(job: Job) -> str:
    """Returns the reason to leave an object file as it is; empty if there is none."""
    if not job.makes_object:
        return next(iter(job.unknown), "no object file of one source")
    for each in job.side_outputs:
        if each.option not in _ABOUT_THE_RUN:
            return f"{each.option.rstrip('=')} describes the code of clang"
    names = (option[0] for option in job.options)
    if special := [each for each in names if each.startswith(_SPECIAL_CODE + _OTHER_FILES)]:
        return special[0]
    source = job.inputs[0].path
    if once := [each for each in (source, *job.read_files) if not _is_readable(each)]:
        return f"{once[0]} may be read once"
    if is_of_probe(source):
        return "probe of a build system"
    if job.output == "-" or _is_special(Path.cwd() / job.output):
        return "the output is not a file"
    return ""


def _is_readable(name: str) -> bool:
    """Returns true unless a file is special. Headers may be in another folder."""
    return name != "-" and not _is_special(Path.cwd() / name)


def _is_special(path: Path) -> bool:
    """Returns true if a file is neither ordinary nor missing."""
    is_missing = not os.path.lexists(path) and not os.path.normpath(path).startswith("/dev/")
    return not is_missing and not is_ordinary_file(path)


def _level(job: Job) -> str:
    """Returns the level of optimisation of a job."""
    levels = [option[0] for option in job.options if option[0].startswith("-O")]
    return levels[-1] if levels else "-O0"


def _is_about_messages(name: str) -> bool:
    return name in _OF_MESSAGES or name.startswith(_ABOUT_MESSAGES)


def _flat(options: Iterable[Sequence[str]]) -> list[str]:
    return [word for option in options for word in option]


def _expanded(words: Iterable[str]) -> Iterator[str]:
    """Yields words with those of response files, which are known to be readable."""
    for word in words:
        if word.startswith("@"):
            try:
                yield from shlex.split(os.fsdecode(Path(word[1:]).read_bytes()))
            except (OSError, ValueError):
                yield word
        else:
            yield word


def without_outputs(words: Sequence[str]) -> list[str]:
    """Returns the arguments of clang without those that name its outputs."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in _OUTPUTS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith(_OUTPUTS) or word.startswith("-object"):
            kept.append(word)
    return kept
