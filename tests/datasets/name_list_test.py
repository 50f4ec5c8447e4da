import tracemalloc

import pytest

from compiler_gym.datasets import name_list as module
from compiler_gym.datasets.name_list import NameList, shared_names, write_names

NAMES = ["b", "a/b", "a", "ä", "a b", "longer/name.c"]


@pytest.fixture
def path(tmp_path):
    write_names(tmp_path / "names.txt", NAMES)
    return tmp_path / "names.txt"


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_sequence(path, monkeypatch, block):
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    names = NameList(path)
    assert list(names) == NAMES
    assert len(names) == len(NAMES)
    assert [names[index] for index in range(len(NAMES))] == NAMES
    assert names[-1] == NAMES[-1] and names[1:3] == NAMES[1:3]
    with pytest.raises(IndexError):
        names[len(NAMES)]


def test_containing(path):
    names = NameList(path)
    assert all(name in names for name in NAMES)
    for other in ("", "/b", "b\na/b", "longer", "name.c", "c", 1):
        assert other not in names


def test_shared_while_it_is_the_same_file(path, tmp_path):
    names = shared_names(path)
    assert shared_names(path) is names
    write_names(tmp_path / "new.txt", ["other"])
    (tmp_path / "new.txt").replace(path)
    assert list(shared_names(path)) == ["other"]
    assert list(names) == NAMES  # What is in use does not change.


def test_million_names_need_little(tmp_path):
    path = tmp_path / "names.txt"
    count = 1_041_333
    write_names(path, (f"repository-{i % 9973}/folder/file_{i}.c_function" for i in range(count)))
    tracemalloc.start()
    names = NameList(path)
    assert len(names) == count
    assert names[count - 1] in names
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # As texts they are more than a hundred megabytes.
    assert peak < 30e6
