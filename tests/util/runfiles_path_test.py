"""The directories of the package and of its user, and service binaries."""

import os
import re
import stat
import tempfile
from pathlib import Path

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import runfiles_path as module
from compiler_gym.util.runfiles_path import (
    cache_path,
    create_user_logs_dir,
    find_service_binary,
    find_service_file,
    runfiles_path,
    site_data_path,
    transient_cache_path,
    user_name,
)

VARIABLES = ["SITE_DATA", "CACHE", "TRANSIENT_CACHE", "LOGS", "RUNFILES"]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    """A home directory, shared memory and temporary directory of the test's own."""
    for name in VARIABLES:
        monkeypatch.delenv(f"COMPILER_GYM_{name}", raising=False)
    for name in ("home", "shm", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(module, "_SHARED_MEMORY", tmp_path / "shm")


def is_private(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) == 0o700


def test_runfiles_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_RUNFILES", str(tmp_path))
    assert runfiles_path("a/b") == tmp_path / "a/b"


@pytest.mark.parametrize(
    ("function", "variable", "default"),
    [
        (site_data_path, "COMPILER_GYM_SITE_DATA", ".local/share/compiler_gym"),
        (cache_path, "COMPILER_GYM_CACHE", ".local/cache/compiler_gym"),
    ],
)
def test_user_directories(monkeypatch, tmp_path, function, variable, default):
    path = function("x/y")
    assert path == tmp_path / "home" / default / "x/y"
    assert not path.exists()
    assert is_private(function())

    monkeypatch.setenv(variable, str(tmp_path / "configured/dir"))
    assert function("x") == tmp_path / "configured/dir/x"
    assert is_private(function())

    monkeypatch.delenv(variable)
    monkeypatch.delenv("HOME")
    shared = tmp_path / "tmp" / f"compiler_gym_{user_name()}"
    assert function().parent == shared
    assert is_private(shared)
    assert is_private(function())


def test_transient_cache(monkeypatch, tmp_path):
    path = transient_cache_path("x")
    assert path == tmp_path / "shm" / f"compiler_gym_{user_name()}" / "x"
    assert is_private(path.parent)
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / "t"))
    assert transient_cache_path("x") == tmp_path / "t/x"
    # Without shared memory, or if the name is taken, it is in the cache.
    monkeypatch.delenv("COMPILER_GYM_TRANSIENT_CACHE")
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path / "home")
    assert transient_cache_path("x") == cache_path("x")
    monkeypatch.setattr(module, "_SHARED_MEMORY", tmp_path / "missing")
    assert transient_cache_path("x") == cache_path("x")


def test_temporary_directory_of_somebody_else_is_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("HOME")
    cache_path()
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(PermissionError, match="somebody else"):
        cache_path()


def test_unusable_directory_names_the_variable(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "file"))
    with pytest.raises(FileExistsError, match="COMPILER_GYM_CACHE"):
        cache_path("x")


def test_user_without_a_name(monkeypatch):
    def fail():
        raise OSError("No username set in the environment")

    monkeypatch.setattr(module.getpass, "getuser", fail)
    assert user_name() == str(os.getuid())


def test_logs_directory(monkeypatch, tmp_path):
    one = create_user_logs_dir("random_search")
    assert one.parent == tmp_path / "home/logs/compiler_gym/random_search"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", one.name)
    assert is_private(one)
    assert (one.parent / "latest").resolve() == one.resolve()
    monkeypatch.setenv("COMPILER_GYM_LOGS", str(tmp_path / "logs"))
    assert create_user_logs_dir("x").parent == tmp_path / "logs/x"
    assert create_user_logs_dir("x", base=tmp_path / "base").parent == tmp_path / "base/x"


def test_logs_directories_of_the_same_second_differ(monkeypatch, tmp_path):
    class FrozenTime(module.datetime):
        @classmethod
        def now(cls):
            return cls(2026, 1, 2, 3, 4, 5)

    monkeypatch.setattr(module, "datetime", FrozenTime)
    names = [create_user_logs_dir("x", tmp_path).name for _ in range(3)]
    assert names == ["2026-01-02T03-04-05", "2026-01-02T03-04-05-2", "2026-01-02T03-04-05-3"]
    assert os.readlink(tmp_path / "x/latest") == names[-1]
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == [*names, "latest"]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The candidate paths of a binary, in search order."""
    package = tmp_path / "source/compiler_gym"
    monkeypatch.setattr(module, "_PACKAGE_DIRECTORY", package)
    return [
        package / "_service/the-service",
        tmp_path / "source/llvm_service/the-service",
        tmp_path / "source/bazel-bin/llvm_service/the-service",
    ]


def make_executable(path):
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)


def test_order(places):
    for place in reversed(places):
        make_executable(place)
        assert find_service_binary("the-service") == place


def test_files_that_are_not_executable_are_skipped(places):
    places[0].mkdir(parents=True)
    places[1].parent.mkdir(parents=True)
    places[1].touch(mode=0o644)
    make_executable(places[-1])
    assert find_service_binary("the-service") == places[-1]


def test_files_beside_the_service(places):
    assert find_service_file("the-service") is None
    places[1].parent.mkdir(parents=True)
    places[1].touch(mode=0o644)
    assert find_service_file("the-service") == places[1]


def test_companion_package(places, monkeypatch, tmp_path):
    companion = tmp_path / "path" / "compiler_gym_mlir"
    companion.mkdir(parents=True)
    (companion / "the-service").touch(mode=0o755)
    monkeypatch.syspath_prepend(str(companion.parent))
    assert find_service_binary("the-service", "mlir_service") == companion / "the-service"
    with pytest.raises(EnvironmentNotSupported, match=r"pip install 'compiler_gym\[mlir\]'"):
        find_service_binary("missing", "mlir_service")


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("compiler_gym-llvm-service", "llvm_service", "--force-reinstall compiler_gym"),
        ("compiler_gym-llvm-service-shared", "llvm_service", "'compiler_gym[clang]'"),
        ("compiler_gym-mlir-service", "mlir_service", "'compiler_gym[mlir]'"),
    ],
)
def test_a_missing_service_names_the_package_to_install(places, name, package, command):
    places[0].parent.mkdir(parents=True)
    with pytest.raises(EnvironmentNotSupported) as error:
        find_service_binary(name, package)
    assert str(error.value) == f'{name} is not installed; try "pip install {command}"'
