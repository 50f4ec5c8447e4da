"""``compiler-gym-cc`` and ``compiler-gym-c++``: clang with smaller object files, for builds.

clang runs each command once, exactly as it is given, and writes all files and messages. If the
command only compiles one source for size, a search on copies in a temporary folder follows. It may
do one thing: replace the object file atomically by a smaller one.

Imports are delayed, because a build runs this program many times.
"""

import hashlib
import json
import os
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from compiler_gym.cli import wrapper_settings as settings
from compiler_gym.cli.kept_objects import digest_of
from compiler_gym.cli.wrapper_command import (
    NotForSizeError,
    UnitCommand,
    command_for_size,
    only_compiles,
)
from compiler_gym.cli.wrapper_log import log
from compiler_gym.cli.wrapper_settings import CACHE_KEY, LOG, RECORD, SETTINGS, WrongSettingError
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import WRITING_VARIABLES
from compiler_gym.util.environment_variables import check_names
from compiler_gym.util.filesystem import atomic_file_write

# Those that end a program and can be handled, except for errors of the program itself.
_ENDING_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU),
    *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2),
)


class _EndedError(BaseException):
    """A signal that ends this program."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def cc() -> NoReturn:
    """Compiles C."""
    _exit(main("clang", sys.argv[1:]))


def cxx() -> NoReturn:
    """Compiles C++."""
    _exit(main("clang++", sys.argv[1:]))


def _exit(code: int) -> NoReturn:
    """Ends like clang: with an exit code, or by a signal if that is negative."""
    if code < 0:
        sys.stderr.flush()
        if -code != signal.SIGKILL:  # No program handles this one.
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main(driver: str, words: Sequence[str]) -> int:
    """Runs clang, and makes the object file smaller.

    Args:
        driver: The driver: ``"clang"`` or ``"clang++"``.
        words: Its arguments.

    Returns:
        Its exit code; the negative number of the signal that has ended it, if one has.
    """
    clang = llvm_tools.tool_path(driver)
    if [*words] == [settings.PRINT_FLAGS]:
        return _print_flags()
    if "--help" in words:
        return _print_help(clang, words)
    try:
        check_names(os.environ)
        words = settings.take_own_words(words)
        os.environ.update(json.loads(os.environ.pop(SETTINGS, "{}")))
        if CACHE_KEY in words:
            from compiler_gym.cli.smaller_object import cache_key

            return _print(f"{cache_key(clang, words)}\n")
        is_recorded = bool(os.environ.get(RECORD))
        if settings.one_run() == "1" and not is_recorded:
            _run_once(clang, words)
        command = command_for_size(clang, words, has_own_level=is_recorded)
        if settings.limits().excludes(Path(command.source)):
            raise NotForSizeError(f"{settings.EXCLUDE} has the source", command.words)
    except (WrongSettingError, UnknownNameError) as error:
        sys.stderr.write(f"compiler-gym: {error}\n")
        return 1
    except NotForSizeError as error:
        note, words = str(error), error.words or words
    except Exception as error:
        note = f"error: {error}"
    else:
        return _compile(driver, command)
    if os.environ.get(RECORD) and not only_compiles(words):
        _write_note(_note(driver, words))
    log("clang", note=f"{note}: {shlex.join(words)}")
    _become(clang, words)


def _print_help(clang: Path, words: Sequence[str]) -> int:
    """Prints the help of clang, and then the own options. Returns the exit code."""
    return _run_in_place([str(clang), *words]) or _print(settings.OWN_HELP)


def _print_flags() -> int:
    """Prints the options with which one run of clang makes smaller code. Returns the exit code."""
    from compiler_gym.tuning.size.one_run import one_run_options

    try:
        return _print(f"{shlex.join(one_run_options())}\n")
    except EnvironmentNotSupported as error:
        sys.stderr.write(f"compiler-gym: {error}\n")
        return 1


def _print(text: str) -> int:
    """Prints a text. Returns the exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # As for clang, whose help is often cut off.
    try:
        with open(1, "w", encoding="utf-8", closefd=False) as stdout:
            stdout.write(text)
    except OSError as error:
        sys.stderr.write(f"compiler-gym: {error.strerror}\n")
        return 1
    return 0


def _run_once(clang: Path, words: Sequence[str]) -> NoReturn:
    """Runs clang once with the plugin that makes its code smaller."""
    from compiler_gym.tuning.size.one_run import description, one_run_options

    try:
        words = [*words, *one_run_options()]
        note = description() if os.environ.get(LOG) else ""
    except EnvironmentNotSupported as error:
        sys.stderr.write(f"compiler-gym: warning: {error}\n")
        note = "no plugin"
    log("one run", note=f"{note}: {shlex.join(words)}")
    _become(clang, words)


def _become(program: Path, words: Sequence[str]) -> NoReturn:
    """Replaces this program by another one."""
    sys.stderr.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them.
        signal.signal(number, signal.SIG_DFL)
    os.execv(program, [str(program), *words])


def _compile(driver: str, command: UnitCommand) -> int:
    """Runs a command, and makes its object file smaller. Returns the exit code."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    code = _run_in_place([str(command.clang), *command.words])
    if code:
        return code
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        with _ending_by_signals():
            if os.environ.get(RECORD):
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                _record(driver, command, used)
            else:
                _make_smaller(command, seconds)
    except WrongSettingError as error:
        sys.stderr.write(f"compiler-gym: {error}\n")
        code = 1
    except _EndedError as error:
        code = -error.number
    except Exception as error:
        log("clang", output=command.output, note=f"error: {error}")
    if code:  # As a failed run of clang, this leaves no object file.
        with suppress(OSError):
            command.output.unlink()
    return code


def _run_in_place(words: Sequence[str]) -> int:
    """Runs a program with all files and streams of this one. It gets the signals for this one."""
    waiting: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        waiting.append(number)
        if process is not None:
            process.send_signal(number)

    former = {number: signal.signal(number, forward) for number in _signals_to_heed()}
    try:
        # Process substitution names inherited files.
        process = subprocess.Popen(words, close_fds=False)
        for number in waiting:
            process.send_signal(number)
        return process.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _signals_to_heed() -> list[signal.Signals]:
    """Returns the signals that end this program. Under ``nohup``, SIGHUP does not."""
    return [each for each in _ENDING_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]


@contextmanager
def _ending_by_signals() -> Iterator[None]:
    """Raises an exception for the first signal that ends a program, and ignores others."""

    def end(number: int, frame: FrameType | None) -> None:
        for each in _ENDING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise _EndedError(number)

    for each in _signals_to_heed():
        signal.signal(each, end)
    yield


def _make_smaller(command: UnitCommand, seconds: float) -> None:
    """Replaces an object file by a smaller one, if there is one.

    Args:
        command: The command that has made it.
        seconds: The duration of the command.

    Raises:
        WrongSettingError: If a setting is wrong.
    """
    from compiler_gym.cli.smaller_object import NotRepeatedError, Unit, smaller_object

    for name in WRITING_VARIABLES:
        os.environ.pop(name, None)
    output = command.output
    before = _status(output)
    if before is None:
        log("clang", output=output, note="the object file has another name, or is a link")
        return
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        plain = folder / "plain.o"
        shutil.copyfile(output, plain)
        try:
            path = smaller_object(Unit(command, folder, plain, seconds))
        except NotRepeatedError as error:
            log("clang", output=output, note=str(error))
            return
        data = path.read_bytes()
        if data != plain.read_bytes() and _status(output) == before:
            _replace(output, data, before.mode)


class _Status(NamedTuple):
    """The identity of a file and of its content."""

    mode: int
    device: int
    inode: int
    size: int
    modified: int
    changed: int


def _status(path: Path) -> _Status | None:
    """Returns the status of an ordinary file with one name, else None."""
    it = os.lstat(path)
    if not stat.S_ISREG(it.st_mode) or it.st_nlink != 1:
        return None
    return _Status(
        *(stat.S_IMODE(it.st_mode), it.st_dev, it.st_ino, it.st_size),
        *(it.st_mtime_ns, it.st_ctime_ns),
    )


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Replaces a file atomically."""
    with atomic_file_write(path, fileobj=True) as file:
        file.write(data)
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != mode:
            os.fchmod(file.fileno(), mode)


def _record(driver: str, command: UnitCommand, seconds: float) -> None:
    """Records a unit that clang has compiled.

    Args:
        driver: The driver.
        command: The command that has compiled it.
        seconds: The processor time that it took.
    """
    from compiler_gym.cli.lock_file import key_of
    from compiler_gym.cli.smaller_object import is_probe

    output = command.output.absolute()
    if _status(output) is None or is_probe(output):
        return
    key = key_of(settings.lock_path().parent, command.source, command.options)
    about = {"output": str(output), "digest": digest_of(output), "seconds": seconds, "key": key}
    _write_note(_note(driver, command.words) | about)


def _note(driver: str, words: Sequence[str]) -> dict[str, Any]:
    """Returns what is recorded of a command of clang."""
    return {
        "driver": driver,
        "words": [*words],
        "folder": os.getcwd(),
        "environment": {**os.environ},
    }


def _write_note(note: dict[str, Any]) -> None:
    # Builds may compile several sources to the same file, and move it each time.
    facts = json.dumps([note.get("output"), note["folder"], *note["words"]])
    name = hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()
    with atomic_file_write(Path(os.environ[RECORD], name), fileobj=True, mode="w") as file:
        json.dump(note, file)
