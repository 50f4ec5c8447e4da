"""Runs of ``opt``, and classification of their failures."""

import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

# Resource limits for the programs that a hunt starts.


@dataclass(frozen=True)
class Limits:
    """Limits of a single run of ``opt`` or of a compiled program.

    Attributes:
        seconds: The limit on processor time, at least one second. A run that exceeds it twice, the
            second time with double the limit, counts as a hang.
        memory_mb: The memory limit in megabytes.
        repeats: The number of runs of opt that must make the same bitcode.
        reduce_seconds: The time limit for reducing a finding.
    """

    seconds: float = 20
    memory_mb: int = 4096
    repeats: int = 2
    reduce_seconds: float = 600

    @property
    def cpu_seconds(self) -> int:
        """The processor time in whole seconds, as shells count it."""
        return max(1, round(self.seconds))

    @property
    def wall_seconds(self) -> int:
        """The wall-clock timeout. Longer than the CPU limit, because the machine may be busy."""
        return 8 * self.cpu_seconds

    def shares(self, factor: float) -> "Limits":
        """Returns the limits with a share of the time."""
        return replace(self, seconds=self.seconds * factor)

    def apply(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Returns a command that runs another with these limits, and without a core file."""
        script = f'ulimit -c 0; {self.as_shell()}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *command]

    def as_shell(self) -> str:
        """Returns shell code that sets the limits. At the time limit, LLVM prints its position."""
        seconds = self.cpu_seconds
        return (
            f"ulimit -v {self.memory_mb * 1024}; ulimit -S -t {seconds}; ulimit -H -t {seconds + 5}"
        )


class Kind(str, Enum):
    """The ways in which a sequence of passes can go wrong.

    Bitcode stores the order in which a value lists its users; textual IR does not. Passes that walk
    these lists may then behave differently.
    """

    CRASH = "crash"
    HANG = "hang"
    OUT_OF_MEMORY = "out of memory"
    BROKEN_MODULE = "broken module"
    UNSTABLE = "unstable result"
    UNSTABLE_USES = "unstable order of uses"
    WRONG_OUTPUT = "wrong output"


@dataclass(frozen=True)
class Failure:
    """A failure of a pass.

    Attributes:
        kind: The kind of failure.
        guilty: The name of the pass that LLVM names; empty if it names none.
        where: The detail that identifies it among failures of this pass: a function of LLVM, or the
            first line of its message, as LLVM prints it; empty if there is none.
        messages: The output, truncated.
    """

    kind: Kind
    guilty: str = ""
    where: str = ""
    messages: str = ""


class RefusedError(Exception):
    """``opt`` refuses the request with a reason. This is not a failure of a pass."""


VERIFYING = "-verify-each"
"""The option of ``opt`` that checks the module after each pass, and names the one that broke it."""

_RUNNING = re.compile(r'^\d+\.\s+Running pass "(.*?)" on ', re.MULTILINE)
_BROKEN = re.compile(r"^LLVM ERROR: Broken \w+ found", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(r"LLVM ERROR: out of memory|std::bad_alloc|Cannot allocate memory")
_FATAL = re.compile(r"^LLVM ERROR: (.*)$", re.MULTILINE)
# With a symbolizer, and without: the number, the library without it, the address, the function.
_FRAME = re.compile(r"^ *#?\d+ +(?:\S+ +)?0x[0-9a-f]+ ([^\n(<]+?) ?[(<]", re.MULTILINE)
_NOT_THE_PLACE = re.compile(
    r"PrintStackTrace|SignalHandlers|report_fatal_error|llvm_unreachable|^_*(gnu_cxx|std|abort|"
    r"raise|pthread_kill|assert|libc)|PassManager|PassAdaptor|^optMain|runPassPipeline|^_start"
)
# Text that changes between runs, or by renaming.
_VALUES = re.compile(r"[%@#!]\S+|0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|\d+")
_MAX_MESSAGES = 20_000
_DIS_SECONDS = 60
_OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


def pipeline_of(sequence: Sequence[str]) -> str:
    """Returns the text for ``opt -passes=`` of a sequence."""
    return f"module({','.join(sequence)})"


def opt_command(opt: Path, sequence: Sequence[str], source: Path, result: Path | str) -> list[str]:
    """Returns the command that runs passes. Findings quote it."""
    passes = [f"-passes={pipeline_of(sequence)}"] if sequence else []
    return [str(opt), VERIFYING, *passes, str(source), "-o", str(result)]


def run_passes(
    opt: Path, sequence: Sequence[str], source: Path, result: Path, limits: Limits
) -> Failure | None:
    """Runs passes on a module.

    Args:
        opt: The path of opt.
        sequence: The passes, elements of ``module(...)``.
        source: The module, textual IR or bitcode.
        result: The path of the new module.
        limits: Limits on time and memory.

    Returns:
        The failure; None if a single run shows none.

    Raises:
        RefusedError: If opt ends with an error that it describes, other than a broken module.
        OSError: If opt cannot be started.
    """
    command = limits.apply(opt_command(opt, sequence, source, result))
    try:
        done = run_command(command, timeout=limits.wall_seconds, check=False)
    except subprocess.TimeoutExpired:
        return Failure(Kind.HANG)
    return None if done.returncode == 0 else failure_of(done.returncode, done.stderr)


def compare_results(first: Path, second: Path) -> Failure | None:
    """Returns the kind of difference between the bitcode of two runs; None if they are equal.

    Raises:
        CommandError: If it is not bitcode.
    """
    if first.read_bytes() == second.read_bytes():
        return None
    texts = (
        run_command([llvm_tools.llvm_dis_path(), path, "-o", "-"], _DIS_SECONDS, text=False).stdout
        for path in (first, second)
    )
    # The first line has the name of the file.
    one, other = (text.partition(b"\n")[2] for text in texts)
    return Failure(Kind.UNSTABLE_USES if one == other else Kind.UNSTABLE)


def failure_of(status: int, messages: str) -> Failure:
    """Returns the failure for a non-zero exit code of ``opt`` and its messages.

    Raises:
        RefusedError: If opt refuses the request.
    """
    from compiler_gym.hunt.passes import name_of

    cut = messages[:_MAX_MESSAGES]
    running = _RUNNING.findall(messages)
    guilty = name_of(running[-1]) if running else ""
    if status in _OUT_OF_TIME:
        return Failure(Kind.HANG, guilty, "", cut)
    if _OUT_OF_MEMORY.search(messages):
        return Failure(Kind.OUT_OF_MEMORY, guilty, "", cut)
    if _BROKEN.search(messages):
        return Failure(Kind.BROKEN_MODULE, guilty, _plain_start(messages.partition("\n")[0]), cut)
    fatal = _FATAL.search(messages)
    if fatal:
        return Failure(Kind.CRASH, guilty, _plain_start(fatal.group(1)), cut)
    if "Stack dump" in messages or status < 0 or status > 128:
        return Failure(Kind.CRASH, guilty, _place(messages), cut)
    raise RefusedError(messages.strip()[:1000] or f"exit code {status}")


def _place(messages: str) -> str:
    """Returns the first function of a stack trace that identifies the place."""
    names = (name.strip() for name in _FRAME.findall(messages))
    return next((name for name in names if not _NOT_THE_PLACE.search(name)), "")


def _plain_start(line: str) -> str:
    """Returns a line up to the first name that may change between runs."""
    found = _VALUES.search(line)
    return (line[: found.start()] if found else line).strip()
