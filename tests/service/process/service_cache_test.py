"""The working directories of services."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compiler_gym.service.process import service_cache
from compiler_gym.service.process.service_cache import ServiceCache, remove_stale_directories
from tests.processes import python_environment


@pytest.fixture(autouse=True)
def transient_cache(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / "transient"))
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "transient"


def test_disk_of_a_directory_in_memory_is_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(service_cache, "is_in_memory", lambda path: True)
    cache = ServiceCache()
    target = cache.disk.resolve()
    assert target.parent == (tmp_path / "cache" / "s").resolve()
    (cache.disk / "program").write_text("something")
    cache.close()
    assert not cache.path.exists()
    assert not target.exists()


def test_close_does_not_follow_a_foreign_link(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    cache = ServiceCache()
    cache.disk.rmdir()
    cache.disk.symlink_to(precious)
    cache.close()
    assert not cache.path.exists()
    assert precious.is_dir()


def test_directory_of_a_killed_process_is_removed(transient_cache):
    script = (
        "from compiler_gym.service.process.service_cache import ServiceCache\n"
        "import time\n"
        "cache = ServiceCache()\n"
        "print(cache.path, flush=True)\n"
        "time.sleep(1000)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=python_environment(),
    )
    path = Path(child.stdout.readline().strip())
    assert path.is_dir()
    assert remove_stale_directories(transient_cache / "s") == 0
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert remove_stale_directories(transient_cache / "s") == 1
    assert not path.exists()


def test_disk_of_a_killed_process_is_removed_by_the_next_one(monkeypatch, tmp_path):
    script = (
        "from compiler_gym.service.process import service_cache\n"
        "import os, shutil, signal\n"
        "service_cache.is_in_memory = lambda path: True\n"
        "cache = service_cache.ServiceCache()\n"
        "(cache.disk / 'program').write_text('something')\n"
        "shutil.rmtree(cache.path)\n"  # What a service does when it finds its client killed.
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    disks = tmp_path / "cache" / "s"
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", script], env=python_environment())
        assert killed.returncode == -signal.SIGKILL
        assert len(list(disks.iterdir())) == 1
    monkeypatch.setattr(service_cache, "is_in_memory", lambda path: True)
    with ServiceCache() as cache, ServiceCache() as other:
        assert set(disks.iterdir()) == {cache.disk.resolve(), other.disk.resolve()}
    assert list(disks.iterdir()) == []


def test_foreign_directories_are_left_alone(transient_cache):
    foreign = transient_cache / "s" / "foreign"
    foreign.mkdir(parents=True)
    assert remove_stale_directories(transient_cache / "s") == 0
    assert foreign.is_dir()


def test_directories_in_the_making(transient_cache):
    young, old = transient_cache / "s" / ".young", transient_cache / "s" / ".old"
    young.mkdir(parents=True)
    old.mkdir()
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    assert remove_stale_directories(transient_cache / "s") == 1
    assert young.is_dir()
    assert not old.exists()


def test_a_forked_process_leaves_the_directory_to_its_owner(monkeypatch):
    cache = ServiceCache()
    monkeypatch.setattr(os, "getpid", lambda: 999_999_999)
    cache.close()
    monkeypatch.undo()
    assert cache.path.is_dir()


def test_random_numbers_of_the_user_are_not_used_up():
    import random

    random.seed(1)
    expected = random.random()
    random.seed(1)
    ServiceCache().close()
    assert random.random() == expected
