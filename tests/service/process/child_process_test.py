"""Child processes that end with their parent."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from compiler_gym.service.process import child_process
from compiler_gym.service.process.child_process import ChildProcess
from tests.processes import is_running, python_environment, wait_until


def start(script: str) -> ChildProcess:
    return ChildProcess(["/bin/sh", "-c", script], "/", dict(os.environ), subprocess.DEVNULL)


def test_program_proper_has_the_process_id(tmp_path):
    child = start(f"echo $$ > {tmp_path}/pid")
    assert child.wait(100) == 0
    assert int((tmp_path / "pid").read_text()) == child.pid


def test_child_of_a_process_that_is_gone_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process.os, "getpid", lambda: 999_999_999)
    child = start(f"touch {tmp_path}/started")
    monkeypatch.undo()
    assert child.wait(100) == 1
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("setpriv", [None, "/bin/false"])
def test_without_setpriv(monkeypatch, setpriv):
    """None at all, or one that cannot do it."""
    monkeypatch.setattr(child_process.shutil, "which", lambda name: setpriv)
    child_process._find_setpriv.cache_clear()
    try:
        assert start("exit 3").wait(100) == 3
    finally:
        child_process._find_setpriv.cache_clear()


def test_a_child_that_ignores_sigterm_is_killed(tmp_path):
    child = start(f"trap '' TERM; touch {tmp_path}/deaf; while true; do sleep 1; done")
    wait_until((tmp_path / "deaf").exists)
    assert child.terminate(0.1) == -signal.SIGKILL


@pytest.mark.parametrize("end", ["exit 0", "sleep 1000"])
def test_grandchildren_are_killed_too(end, tmp_path):
    grandchild = tmp_path / "pid"
    child = start(
        f"sleep 1000 & echo $! > {grandchild}.new; mv {grandchild}.new {grandchild}; {end}"
    )
    wait_until(grandchild.exists)
    pid = int(grandchild.read_text())
    child.wait(0.2)
    child.terminate(100)
    wait_until(lambda: not is_running(pid))


def test_children_outlive_the_thread_that_asked_for_them():
    children = []
    thread = threading.Thread(target=lambda: children.append(start("sleep 1000")))
    thread.start()
    thread.join()
    assert children[0].wait(0.5) is None
    assert children[0].terminate(100) == -signal.SIGTERM


def test_children_end_with_the_parent():
    script = (
        "import os, subprocess, time\n"
        "from compiler_gym.service.process.child_process import ChildProcess\n"
        "child = ChildProcess(['/bin/sleep', '1000'], '/', {}, subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=python_environment()
    ) as parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    wait_until(lambda: not is_running(pid))


def test_a_forked_process_starts_children_of_its_own():
    script = (
        "import os, subprocess\n"
        "from compiler_gym.service.process.child_process import ChildProcess\n"
        "def start(end):\n"
        "    return ChildProcess(['/bin/sh', '-c', end], '/', {}, subprocess.DEVNULL).wait(100)\n"
        "start('exit 0')\n"  # Now this process has its launching thread.
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(start('exit 3'))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", script], env=python_environment(), timeout=250
    )
    assert output == b"3\n"


def test_descendants(tmp_path):
    program = tmp_path / "a) S 1 (b"  # Like the fields of /proc/PID/stat.
    shutil.copy("/bin/sleep", program)
    child = start(f"'{program}' 1000 & sleep 1000 & wait")
    wait_until(lambda: len(child_process.children(child.pid)) == 2)
    assert child.pid in child_process.children(os.getpid())
    found = child_process.descendants(os.getpid())
    assert {child.pid, *child_process.children(child.pid)} <= set(found)
    child.terminate(0)
    wait_until(lambda: not child_process.children(child.pid))


def test_a_child_collected_by_somebody_else():
    child = start("exit 0")
    os.waitpid(child.pid, 0)
    assert child.poll() == 0
