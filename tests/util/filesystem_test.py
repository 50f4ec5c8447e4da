"""Atomic writes and memory file systems."""

import pytest

from compiler_gym.util import filesystem
from compiler_gym.util.filesystem import atomic_file_write, is_in_memory


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


def test_is_in_memory_without_a_list_of_mounts(tmp_path, monkeypatch):
    monkeypatch.setattr(filesystem, "_MOUNTS", tmp_path / "missing")
    assert not is_in_memory(tmp_path)
