"""Atomic writes, memory file systems, and locks."""

import os
import subprocess
import sys
import threading

import pytest

from compiler_gym.util import filesystem
from compiler_gym.util.filesystem import atomic_file_write, file_lock, is_in_memory, read_text


@pytest.mark.parametrize(("mode", "contents"), [("wb", b"\0new"), ("w", "new")])
def test_write_file_object(tmp_path, mode, contents):
    target = tmp_path / "file"
    with atomic_file_write(target, fileobj=True, mode=mode) as file:
        file.write(contents)
        assert not target.exists()
    assert target.read_bytes() in (contents, b"new")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("fileobj", [False, True])
def test_failure_leaves_everything_as_it_was(tmp_path, fileobj):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_file_write(target, fileobj=fileobj):
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_new_files_have_the_permissions_of_the_umask(tmp_path):
    mask = os.umask(0o027)
    try:
        for name, permissions, expected in (("data", 0o666, 0o640), ("script", 0o777, 0o750)):
            with atomic_file_write(tmp_path / name, permissions=permissions):
                pass
            assert (tmp_path / name).stat().st_mode & 0o777 == expected
    finally:
        os.umask(mask)


def test_streams_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    (tmp_path / "device").symlink_to("/dev/null")
    before = sorted(tmp_path.iterdir())
    for path in before:
        with pytest.raises(OSError, match="is no ordinary file"), atomic_file_write(path):
            pass
    assert sorted(tmp_path.iterdir()) == before
    (tmp_path / "new").symlink_to("nothing")
    with atomic_file_write(tmp_path / "new", fileobj=True) as file:
        file.write(b"1")
    assert (tmp_path / "new").read_bytes() == b"1"


def test_is_in_memory(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    disk, memory, blank = tmp_path / "disk", tmp_path / "memory", tmp_path / "a b"
    for path in (disk, memory, blank):
        path.mkdir()
    (disk / "link").symlink_to(memory)
    escaped = str(blank).replace(" ", r"\040")
    mounts.write_text(
        "root / ext4 rw 0 0\n"
        f"tmpfs {memory} tmpfs rw 0 0\n"
        f"disk {memory / 'inner'} ext4 rw 0 0\n"
        f"none {escaped} ramfs rw 0 0\n"
    )
    monkeypatch.setattr(filesystem, "_MOUNTS", mounts)
    assert is_in_memory(memory)
    assert is_in_memory(memory / "x/y")
    assert is_in_memory(disk / "link")
    assert is_in_memory(blank / "x")
    assert not is_in_memory(disk)
    assert not is_in_memory(memory / "inner/x")
    monkeypatch.setattr(filesystem, "_MOUNTS", tmp_path / "missing")
    assert not is_in_memory(memory)


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


def test_text_of_another_encoding_is_an_error_with_the_file(tmp_path):
    path = tmp_path / "names"
    path.write_bytes("caf\u00e9 \u65e5".encode())
    assert read_text(path) == "caf\u00e9 \u65e5"
    path.write_bytes(b"caf\xe9")
    with pytest.raises(
        ValueError, match=r"expected text in UTF-8 in .*/names, got the byte 0xe9 at"
    ):
        read_text(path)


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
