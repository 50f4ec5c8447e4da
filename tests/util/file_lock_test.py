"""Tests of compiler_gym.util.filesystem."""

import subprocess
import sys
import threading

import pytest

from compiler_gym.util.filesystem import file_lock

_HOLDER = """
import sys
from pathlib import Path
from compiler_gym.util.filesystem import file_lock
with file_lock(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock_path(tmp_path):
    return tmp_path / "sub" / "lock"


def _acquired_in_thread(path, timeout):
    """Returns an event that is set once another thread has had the lock, and waits for it."""
    acquired = threading.Event()

    def run():
        with file_lock(path):
            acquired.set()

    threading.Thread(target=run, daemon=True).start()
    acquired.wait(timeout)
    return acquired


def test_excludes_threads(lock_path):
    with file_lock(lock_path):
        acquired = _acquired_in_thread(lock_path, timeout=0.1)
        assert not acquired.is_set()
    assert acquired.wait(100)


def test_excludes_processes_and_ends_with_them(lock_path):
    command = [sys.executable, "-c", _HOLDER, str(lock_path)]
    # The new interpreter finds the package where this one does.
    environment = {"PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        acquired = _acquired_in_thread(lock_path, timeout=0.1)
        assert not acquired.is_set()
        holder.kill()
        assert acquired.wait(100)


def test_a_directory_can_be_locked_and_nothing_is_left(tmp_path):
    with file_lock(tmp_path):
        with pytest.raises(BlockingIOError), file_lock(tmp_path, wait=False):
            pass
        assert not any(tmp_path.iterdir())
    assert _acquired_in_thread(tmp_path, timeout=100).is_set()
