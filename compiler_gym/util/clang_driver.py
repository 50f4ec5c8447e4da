"""The jobs of a command of clang, as clang itself lists them with ``-###``.

A command line says little by itself: response files, configuration files and environment variables
change it. clang's driver knows them all, and turns a command into jobs: commands of its compiler
proper (``clang -cc1``), of assemblers and of linkers. Their words are explicit.

The tables of options are those of LLVM 22. A word that is in none of them is reported as unknown,
so that callers can leave such a command alone.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.util.commands import run_command

WRITING_VARIABLES = (
    *("CC_PRINT_OPTIONS", "CC_PRINT_HEADERS", "CC_LOG_DIAGNOSTICS", "CC_PRINT_PROC_STAT"),
    *("CC_PRINT_INTERNAL_STAT", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"),
    "AS_SECURE_LOG_FILE",
)
"""Environment variables that make clang write files or messages."""

_SECONDS = 60

# clang edits its arguments by this variable, also those of response files.
OVERRIDES = "CCC_OVERRIDE_OPTIONS"
# Even with -###, clang removes the files of these options, and the archives that it would make, and
# writes reproducers. All but archives are left out, and archives are refused.
_WITHOUT_EFFECTS = (
    *("s/^-MJ$/-ccc-gcc-name/", "s/^-MJ..*$/-Qunused-arguments/"),
    "s/^--*serialize-diagnostics$/-ccc-gcc-name/",
    "s/^--*gen-reproducer.*$/-Qunused-arguments/",
    "s/^--emit-static-lib$/--emit-static-lib=no/",
)
# In their place stand options without effect, with and without a value. No job has them, unless the
# word was no option: the name of a file, or the value of another option.
_IN_THEIR_PLACE = ("-ccc-gcc-name", "-Qunused-arguments")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Options of ``-cc1`` whose value is the next word.
_OUTPUTS_IN_NEXT_WORD = _words(
    "-as-secure-log-file -dependency-dot -dependency-file -diagnostic-log-file -header-include-file"
    " -module-dependency-dir -opt-record-file -serialize-diagnostic-file -split-dwarf-output"
    " -stack-usage-file"
)
_FILES_IN_NEXT_WORD = _words(
    "-chain-include -fcuda-include-gpubinary -fopenmp-host-ir-file-path -imacros -include"
    " -include-pch -ivfsoverlay -mlink-bitcode-file -mlink-builtin-bitcode -remap-file -vfsoverlay"
)
_VALUES_IN_NEXT_WORD = _words(
    "-D -F -I -MQ -MT -U -aux-target-cpu -aux-target-feature -aux-triple -c-isystem -cxx-isystem"
    " -darwin-target-variant-triple -default-function-attr -dumpdir -dwarf-debug-flags"
    " -exception-model -fbracket-depth -fconstant-string-class -fdebug-compilation-dir"
    " -fdiagnostics-format -fdiagnostics-show-category -ferror-limit -fmodule-feature -ftabstop"
    " -ftrapv-handler -function-alignment -iapinotes-modules -idirafter -iframework"
    " -iframeworkwithsysroot -internal-externc-isystem -internal-iframework -internal-isystem"
    " -iprefix -iquote -isysroot -isystem -iwithprefix -iwithprefixbefore -iwithsysroot"
    " -main-file-name -mdebug-pass -meabi -mfloat-abi -mfpmath -mlimit-float-precision -mllvm"
    " -mregparm -mrelocation-model -msmall-data-limit -mthread-model -mtp -objc-isystem"
    " -objcxx-isystem -object-file-name -opt-record-format -opt-record-passes -pic-level"
    " -record-command-line -resource-dir -source-date-epoch -split-dwarf-file -stack-protector"
    " -stack-protector-buffer-size -target-abi -target-cpu -target-feature -target-linker-version"
    " -triple -tune-cpu -working-directory"
)

# Options of ``-cc1`` whose value is a file or folder in the same word.
_OUTPUTS_IN_SAME_WORD = (
    *("-coverage-data-file=", "-coverage-notes-file=", "-fmemory-profile=", "-fmodule-output="),
    *("-fprofile-instrument-path=", "-fthin-link-bitcode=", "-ftime-trace=", "-save-temps="),
    *("-stats-file=", "-fverify-debuginfo-preserve-export="),
)
_FILES_IN_SAME_WORD = (
    *("-fmemory-profile-use=", "-fprofile-instrument-use-path=", "-fprofile-list="),
    *("-fprofile-remapping-file=", "-fprofile-sample-use=", "-frandomize-layout-seed-file="),
    *(
        "-fsanitize-coverage-allowlist=",
        "-fsanitize-coverage-ignorelist=",
        "-fsanitize-ignorelist=",
    ),
    *("-fsanitize-system-ignorelist=", "-fthinlto-index=", "-fxray-always-instrument="),
    *("-fxray-attr-list=", "-fxray-never-instrument=", "--warning-suppression-mappings="),
    *("-fms-secure-hotpatch-functions-file=", "-fexperimental-sanitize-metadata-ignorelist="),
)

_PLUGINS_IN_NEXT_WORD = _words("-add-plugin -load -plugin")

# Options that name no file that is written. With a value, others of these kinds may do so.
_HARMLESS_KINDS = re.compile(r"-(f(?!ixit|module|modules|pass-plugin|prebuilt)|[gmnwDFIORUW]|std=)")
_HARMLESS = _words(
    "-C -CC -H -MG -MP -MV -P -Qn -Qy -cfguard -clear-ast-before-backend -compress-debug-sections"
    " -debug-info-macro -disable-O0-optnone -disable-free -disable-lifetime-markers"
    " -disable-llvm-passes -disable-llvm-verifier -disable-red-zone -discard-value-names"
    " -dwarf-explicit-import -dwarf-ext-refs -ehcontguard -emit-llvm-uselists"
    " -enable-noundef-analysis -enable-tlsdesc -no-clear-ast-before-backend -pedantic"
    " -pedantic-errors -pg -pic-is-pie -pointer-tbaa -print-stats -pthread -regcall4"
    " -relaxed-aliasing -stats-file-append -stats-file-timers -sys-header-deps -traditional-cpp"
    " -undef -v -vectorize-loops -vectorize-slp -compress-debug-sections= -complex-range="
    " -coverage-version= -debug-info-kind= -debugger-tuning= -dwarf-version= -exception-model="
    " -header-include-filtering= -header-include-format= -inline-asm= -object-file-name="
    " -pch-through-header= -stdlib= -target-sdk-version= -unwindlib= --gsframe --crel"
    " --output-asm-variant= --dependent-lib= --embed-dir= --no-system-header-prefix="
    " --system-header-prefix= -no-implicit-float -no-finalize-removal -no-struct-path-tbaa"
    " -fcoverage-compilation-dir= -fdebug-compilation-dir= -static-define"
)
_OF_FILES = _words("dir dump export file files log output path record report save trace")

# Options of LLVM that are known to write nothing: those with other values may name files.
_HARMLESS_LLVM = re.compile(r"--?([\w-]+?)(?:=(?:-?\d+|true|false))?")
_OF_LLVM_FILES = _OF_FILES | _words(
    "base channel debug directory dot emit filename print stats time training view write"
)

_ACTIONS = re.compile(
    r"-(E|Eonly|S|analyze|ast-(dump|list|print|view).*|compiler-options-dump|dump-.*tokens|emit-.*|"
    r"extract-api|fixit.*|fsyntax-only|init-only|module-file-info|print-.*|rewrite-.*|"
    r"templight-dump|verify-pch)"
)
_NO_ACTIONS = _words("-emit-llvm-uselists -print-stats")

# A word in the list of jobs. Bytes that are not UTF-8 stand for themselves.
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class NotUnderstoodError(ValueError):
    """A command that clang refuses, or whose jobs cannot be read. The text has the reason."""


@dataclass(frozen=True)
class JobInput:
    """An input of a job.

    Attributes:
        language: The language as clang's option ``-x`` names it; empty if the job does not say.
        path: The file; ``-`` is the standard input.
    """

    language: str
    path: str


@dataclass(frozen=True)
class SideOutput:
    """A file or folder that a job writes besides its output.

    Attributes:
        option: The option, such as ``-dependency-file`` or ``-stats-file=``.
        path: Its value. ``-`` is the standard output, or the standard error stream.
    """

    option: str
    path: str


@dataclass(frozen=True)
class Job:
    """A command that clang runs for a command of a user.

    Attributes:
        program: The program.
        words: Its arguments.
        is_cc1: True for the compiler proper. Only its arguments are analysed: for other programs,
            all attributes below but ``output`` are empty.
        options: The options, each with its value, without those for the input, the output, side
            outputs and actions.
        inputs: The inputs.
        output: The output; empty if there is not exactly one. ``-`` is the standard output.
        side_outputs: Other files that it writes.
        read_files: Files that it reads besides its inputs, as far as options name them.
        actions: The options that select what is made, such as ``-emit-obj``.
        unknown: Words that may write other files, or that are not known.
    """

    program: str
    words: tuple[str, ...]
    is_cc1: bool
    options: tuple[tuple[str, ...], ...] = ()
    inputs: tuple[JobInput, ...] = ()
    output: str = ""
    side_outputs: tuple[SideOutput, ...] = ()
    read_files: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def makes_object(self) -> bool:
        """True if it compiles one input to an object file, and all its words are known."""
        is_plain = self.actions == ("-emit-obj",) and not self.unknown
        return self.is_cc1 and is_plain and len(self.inputs) == 1 and bool(self.output)


def jobs_of(
    clang: Path, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> list[Job]:
    """Asks clang for the jobs of a command. No job runs, and no file is written or removed.

    Files of the driver itself and serialised diagnostics are in no job: ``-MJ``,
    ``-gen-reproducer`` and ``--serialize-diagnostics``. clang reads response files and
    configuration files: see :func:`has_readable_files`.

    Args:
        clang: The driver.
        words: Its arguments.
        folder: The working directory.
        environment: The environment variables; by default those of this process.

    Raises:
        NotUnderstoodError: If clang refuses the command, or its answer is not understood.
    """
    command = [str(clang), "-###", *words]
    variables = {**os.environ} if environment is None else {**environment}
    # "#" suppresses messages about the changes.
    variables[OVERRIDES] = " ".join([variables.get(OVERRIDES, "#"), *_WITHOUT_EFFECTS])
    try:
        done = run_command(
            command, timeout=_SECONDS, cwd=folder, env=variables, text=False, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise NotUnderstoodError(f"clang does not list its jobs: {error}") from error
    said = [os.fsdecode(line) for line in done.stderr.splitlines() if b"error:" in line][:1]
    if not done.returncode and b"response file" in done.stderr:
        raise NotUnderstoodError("a job has a response file")
    listed = [] if done.returncode else [*_listed(done.stderr)]
    names = " ".join([*said, *(word for job in listed for word in job)])
    if any(each in names for each in _IN_THEIR_PLACE):
        raise NotUnderstoodError(
            "expected -MJ, -gen-reproducer and --serialize-diagnostics as options, got a file or a "
            "value of that name; try ./-MJ"
        )
    if done.returncode:
        raise NotUnderstoodError("".join(said) or "clang refuses the command")
    return [_job(job) for job in listed]


def has_readable_files(words: Sequence[str], folder: Path) -> bool:
    """Returns true if all response and configuration files of a command can be read repeatedly.

    Response files that may name others are not followed.

    Args:
        words: The arguments of clang.
        folder: The working directory.
    """
    for name in _argument_files(words):
        path = folder / name
        try:
            if not is_ordinary_file(path) or b"@" in path.read_bytes():
                return False
        except OSError:
            return False
    return True


def is_ordinary_file(path: Path) -> bool:
    """Returns true if a file has the same content for each process, each time it is read.

    Args:
        path: Its absolute path. Names such as ``/dev/stdin`` have another meaning for each process.
    """
    return path.is_file() and not os.path.normpath(path).startswith(("/dev/", "/proc/"))


def _argument_files(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word.startswith("@"):
            yield word[1:]
        elif word.startswith("--config="):
            yield word.removeprefix("--config=")
        elif word == "--config":
            yield next(rest, "")


def _listed(text: bytes) -> Iterator[list[str]]:
    """Yields the words of each job in the output of ``-###``."""
    place = 0
    while place < len(text):
        if text[place : place + 2] != b' "':
            end = text.find(b"\n", place)
            place = len(text) if end < 0 else end + 1
            continue
        words = []
        while text[place : place + 1] == b" ":
            match = _QUOTED.match(text, place + 1)
            if match is None:
                raise NotUnderstoodError("expected quoted words in the jobs of clang")
            words.append(os.fsdecode(re.sub(rb"\\(.)", rb"\1", match[1], flags=re.DOTALL)))
            place = match.end()
        if text[place : place + 1] not in (b"\n", b""):
            raise NotUnderstoodError("expected one line for each job of clang")
        yield words


def _job(listed: Sequence[str]) -> Job:
    program, *words = listed
    if words[:1] == ["-cc1"]:
        return _Reader(program, words).job()
    places = [index + 1 for index, word in enumerate(words[:-1]) if word == "-o"]
    output = words[places[0]] if len(places) == 1 else ""
    return Job(program, tuple(words), is_cc1=False, output=output)


@dataclass
class _Reader:
    """Reads the words of a job of the compiler proper."""

    program: str
    words: list[str]
    options: list[tuple[str, ...]] = field(default_factory=list)
    inputs: list[JobInput] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    side_outputs: list[SideOutput] = field(default_factory=list)
    read_files: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    language: str = ""
    place: int = 1

    def job(self) -> Job:
        while self.place < len(self.words):
            self._read(self.words[self.place])
            self.place += 1
        return Job(
            self.program,
            tuple(self.words),
            is_cc1=True,
            options=tuple(self.options),
            inputs=tuple(self.inputs),
            output=self.outputs[0] if len(self.outputs) == 1 else "",
            side_outputs=tuple(self.side_outputs),
            read_files=tuple(self.read_files),
            actions=tuple(self.actions),
            unknown=tuple(self.unknown),
        )

    def _read(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if word == "-" or not word.startswith("-"):
            self.inputs.append(JobInput(self.language, word))
        elif word == "-o":
            self.outputs.append(self._value())
        elif word == "-x":
            self.language = self._value()
        elif word in _OUTPUTS_IN_NEXT_WORD:
            self.side_outputs.append(SideOutput(word, self._value()))
        elif name + equals in _OUTPUTS_IN_SAME_WORD:
            self.side_outputs.append(SideOutput(name + equals, value))
        elif _ACTIONS.fullmatch(word) and word not in _NO_ACTIONS:
            self.actions.append(word)
        else:
            self.options.append(self._option(word))

    def _option(self, word: str) -> tuple[str, ...]:
        """Returns an option with its value."""
        name, equals, value = word.partition("=")
        if word in _FILES_IN_NEXT_WORD | _VALUES_IN_NEXT_WORD | _PLUGINS_IN_NEXT_WORD:
            value = self._value()
            if word in _FILES_IN_NEXT_WORD:
                self.read_files.append(value)
            elif word in _PLUGINS_IN_NEXT_WORD or (word == "-mllvm" and _may_write(value)):
                self.unknown.append(f"{word} {value}")
            return word, value
        if name + equals in _FILES_IN_SAME_WORD:
            self.read_files.append(value)
        elif not _is_harmless(name + equals):
            self.unknown.append(word)
        return (word,)

    def _value(self) -> str:
        self.place += 1
        if self.place >= len(self.words):
            raise NotUnderstoodError(f"expected a value after {self.words[-1]} in a job of clang")
        return self.words[self.place]


def _may_write(option: str) -> bool:
    """Returns true if an option of LLVM may write files."""
    match = _HARMLESS_LLVM.fullmatch(option)
    return match is None or not _OF_LLVM_FILES.isdisjoint(match[1].split("-"))


def _is_harmless(name: str) -> bool:
    """Returns true if an option writes no file.

    Args:
        name: The option, with ``=`` but without the value.
    """
    if name in _HARMLESS:
        return True
    if not _HARMLESS_KINDS.match(name):
        return False
    return not name.endswith("=") or _OF_FILES.isdisjoint(name[:-1].split("-"))
