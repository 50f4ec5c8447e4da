"""Reproducers of crashes outlive the service that wrote them."""

import logging
from pathlib import Path

import pytest

from compiler_gym.service.process.service_cache import (
    MAX_REPRODUCERS,
    ServiceCache,
    keep_reproducers,
    remove_stale_directories,
)
from tests.service.toy_service import make_toy_env


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path) -> Path:
    """The folder of reproducers, for this test only."""
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / "transient"))
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "site_data"))
    return tmp_path / "site_data" / "reproducers"


def make_reproducer(working_dir: Path, name: str, text: str = "text") -> Path:
    path = working_dir / "reproducers" / name
    path.mkdir(parents=True)
    (path / "program.bc").write_text(text)
    return path


def contents(folder: Path) -> list[str]:
    return sorted((path / "program.bc").read_text() for path in folder.iterdir())


def test_closing_an_environment(kept, caplog):
    env = make_toy_env()
    working_dir = env.service.service.working_dir
    make_reproducer(working_dir, "crash-1", "one")
    make_reproducer(working_dir, "crash-2", "two")
    with caplog.at_level(logging.WARNING):
        env.close()
    assert not working_dir.exists()
    assert contents(kept) == ["one", "two"]
    (record,) = (record for record in caplog.records if "reproducers" in record.getMessage())
    assert record.levelno == logging.WARNING
    for path in kept.iterdir():
        assert path.name.startswith(working_dir.name)
        assert str(path) in record.getMessage()


def test_an_environment_that_becomes_garbage(kept):
    env = make_toy_env()
    make_reproducer(env.service.service.working_dir, "crash")
    del env
    assert contents(kept) == ["text"]


def test_reproducers_of_a_killed_process_are_kept(kept, tmp_path):
    stale = tmp_path / "s" / "old"
    make_reproducer(stale, "crash")
    (stale / "owner.lock").touch()
    assert remove_stale_directories(tmp_path / "s") == 1
    assert not stale.exists()
    assert contents(kept) == ["text"]


def test_the_newest_are_kept(kept, tmp_path):
    for batch in "ab":
        for i in range(MAX_REPRODUCERS // 2 + 10):
            make_reproducer(tmp_path / batch, f"{i:03}", f"{batch}{i:03}")
        assert len(keep_reproducers(tmp_path / batch)) == MAX_REPRODUCERS // 2 + 10
    found = contents(kept)
    assert len(found) == MAX_REPRODUCERS
    assert sum(text.startswith("b") for text in found) == MAX_REPRODUCERS // 2 + 10
    assert not {f"a{i:03}" for i in range(20)} & set(found)


def test_an_interrupted_move_is_completed(kept, tmp_path):
    source = make_reproducer(tmp_path / "s", "crash")
    (kept / ".s-crash").mkdir(parents=True)
    keep_reproducers(tmp_path / "s")
    make_reproducer(tmp_path / "s", "crash")  # As if removing it had failed.
    keep_reproducers(tmp_path / "s")
    assert not source.exists()
    assert [path.name for path in kept.iterdir()] == ["s-crash"]


def test_without_a_place_to_keep_them_nothing_is_destroyed(kept, monkeypatch, caplog, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "file"))
    cache = ServiceCache()
    source = make_reproducer(cache.path, "crash")
    cache.close()
    assert source.is_dir()
    assert str(cache.path) in caplog.text
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(kept.parent))
    assert remove_stale_directories(cache.path.parent) == 1
    assert contents(kept) == ["text"]
