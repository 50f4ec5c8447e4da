"""Running programs and killing them with all their children."""

import os
import select
import signal
import subprocess
import sys
import threading

import pytest

from compiler_gym.util.commands import (
    CommandError,
    Popen,
    commands_of,
    communicate,
    kill_running_commands,
    run_command,
)
from tests.processes import is_running, wait_until

# A shell that starts a child which holds the FIFO $0 open for ever. When nobody holds it open
# any more, reading it ends.
HOLD_OPEN = 'exec 3>"$0"; (echo ready >&3; exec sleep 1000 >/dev/null 2>&1) &'


def read_all(file) -> bytes:
    """Reads until no process has the other end open; never returns if one survives."""
    return b"".join(iter(lambda: file.read(100), b""))


def test_commands_of_other_threads_are_killed(fifo):
    path, file = fifo
    results = []
    command = ["sh", "-c", f"{HOLD_OPEN} wait", str(path)]
    thread = threading.Thread(target=lambda: results.append(run_command(command, check=False)))
    thread.start()
    assert select.select([file], [], [], 100)[0] and file.read(6) == b"ready\n"
    while thread.is_alive():
        kill_running_commands()
        thread.join(timeout=0.05)
    assert results[0].returncode == -signal.SIGKILL
    assert read_all(file) == b""
    kill_running_commands()  # There are none.


def test_commands_of_one_owner_are_killed():
    owners = [object(), object()]
    started, ended = [], []

    def run(owner):
        with commands_of(owner), Popen(["sleep", "1000"]) as process:
            started.append((owner, process))
            ended.append((owner, process.wait()))

    threads = [threading.Thread(target=run, args=(owner,)) for owner in owners]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(started) == 2)
    for owner, thread in zip(owners, threads, strict=True):
        kill_running_commands(owner)
        thread.join(timeout=100)
        assert ended[-1] == (owner, -signal.SIGKILL)
        assert not thread.is_alive()
    assert [owner for owner, _ in ended] == owners


def test_output_that_is_not_text():
    assert run_command(["printf", r"a\377b"]).stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_no_input_by_default():
    assert run_command(["cat"], timeout=60).stdout == ""


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("a.c:1:10: fatal error: 'stdio.h' file not found", "apt-get install gcc libc6-dev "),
        ("fatal error: 'sys/types.h' file not found", "apt-get install gcc libc6-dev "),
        ("ld.lld: error: cannot open Scrt1.o: No such file", "apt-get install gcc libc6-dev "),
        ("a.cc:1:10: fatal error: 'vector' file not found", "apt-get install g++ "),
        ("ld.lld: error: unable to find library -lstdc++", "apt-get install g++ "),
        ("a.c:1:10: fatal error: 'mine.h' file not found", None),
    ],
)
def test_missing_headers_are_named_with_the_command_that_installs_them(message, hint):
    with pytest.raises(CommandError) as error:
        run_command(["sh", "-c", 'echo "$0" >&2; exit 1', message])
    for text in (str(error.value), error.value.said):
        last = text.splitlines()[-1]
        assert hint in last if hint else last == f"    {message}"


@pytest.mark.parametrize("options", [["--target=thumbv7em-none-eabi"], ["-target", "aarch64"]])
def test_missing_headers_of_another_target_are_not_those_of_this_machine(options):
    with pytest.raises(CommandError) as error:
        missing = "fatal error: 'stdio.h' file not found"
        run_command(["sh", "-c", 'echo "$0" >&2; exit 1', missing, *options])
    assert "try: --sysroot=FOLDER or -isystem FOLDER" in str(error.value).splitlines()[-1]


def test_failure_by_signal():
    with pytest.raises(CommandError, match="SIGABRT"):
        run_command(["sh", "-c", "kill -ABRT $$"], text=False)
    number = signal.SIGRTMIN + 1
    with pytest.raises(CommandError, match=str(number)):
        run_command([sys.executable, "-c", f"import os; os.kill(os.getpid(), {number})"])


def test_timeout_kills_children_too(fifo):
    path, file = fifo
    with pytest.raises(subprocess.TimeoutExpired):
        run_command(["sh", "-c", f"{HOLD_OPEN} sleep 1000", path], timeout=0.5)
    read_all(file)


def test_end_kills_children_too(fifo):
    path, file = fifo
    run_command(["sh", "-c", HOLD_OPEN, path], timeout=60)
    read_all(file)


def test_interrupt_kills_children_too(fifo):
    path, file = fifo
    with (
        pytest.raises(KeyboardInterrupt),
        Popen(["sh", "-c", f"{HOLD_OPEN} sleep 1000", path]) as process,
    ):
        select.select([file], [], [])  # Reading would end at once while there is no writer yet.
        assert file.read(6) == b"ready\n"
        raise KeyboardInterrupt
    assert process.returncode == -signal.SIGKILL
    assert read_all(file) == b""


def test_an_interrupt_while_a_program_starts_kills_it(monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt), Popen(["sleep", "1000"]) as process:
        process.wait()
    wait_until(lambda: not is_running(started[0]))


class TestCommunicate:
    def test_timeout_kills_the_whole_group(self, fifo):
        path, file = fifo
        with Popen(["sh", "-c", HOLD_OPEN + " sleep 1000", path]) as process:
            select.select([file], [], [])  # See above.
            assert file.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                communicate(process, timeout=0.1)
            assert process.returncode == -signal.SIGKILL
            assert read_all(file) == b""

    def test_process_of_another_group(self):
        process = subprocess.Popen(["sleep", "1000"])
        with pytest.raises(subprocess.TimeoutExpired):
            communicate(process, timeout=0.1)
        assert process.returncode == -signal.SIGKILL
