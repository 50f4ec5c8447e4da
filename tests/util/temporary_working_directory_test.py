"""A working directory for a while."""

from pathlib import Path

import pytest

from compiler_gym.util.temporary_working_directory import temporary_working_directory


def test_new_directory():
    former = Path.cwd()
    with temporary_working_directory() as path:
        assert Path.cwd() == path.resolve() != former
        Path("file").touch()
    assert Path.cwd() == former
    assert not path.exists()


def test_given_directory_stays(tmp_path):
    former = Path.cwd()
    with pytest.raises(KeyError), temporary_working_directory(tmp_path) as path:
        assert path == tmp_path
        assert Path.cwd() == tmp_path.resolve()
        raise KeyError
    assert Path.cwd() == former
    assert tmp_path.is_dir()
