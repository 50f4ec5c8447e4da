import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_engines, llvm_tools
from compiler_gym.util.llvm_engines import asked_version, checked_version, use_version
from compiler_gym.util.runfiles_path import find_service_binary, find_service_file

SERVICE = "compiler_gym-llvm-service"
OWN = llvm_tools.llvm_version()
OTHER = 97


@pytest.fixture(autouse=True)
def no_version(monkeypatch):
    monkeypatch.delenv("COMPILER_GYM_LLVM_VERSION", raising=False)
    monkeypatch.delenv("COMPILER_GYM_LLVM", raising=False)


@pytest.fixture
def other(monkeypatch, tmp_path):
    """The folder of another LLVM, as pip installs it."""
    folder = tmp_path / "path" / f"compiler_gym_llvm{OTHER}"
    for name in ("__init__.py", SERVICE, "bin/opt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    (folder / "llvm_prefix.txt").write_text(f"/opt/llvm-{OTHER}\n{OTHER}.1.4\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    caches = llvm_tools._llvm_of_service, llvm_tools._companion_folder, llvm_tools._tool_path
    yield folder
    for each in caches:
        each.cache_clear()


@pytest.mark.parametrize("version", ["banana", "", "22.1", "-1", "0", 0, 2.5, True])
def test_what_is_no_version(version):
    with pytest.raises(ValueError, match="version of LLVM"):
        checked_version(version)


def test_the_closest_choice_wins(monkeypatch):
    assert asked_version() is None
    monkeypatch.setenv("COMPILER_GYM_LLVM_VERSION", "23")
    with use_version("24"):
        with use_version(25):
            assert asked_version() == 25
        with use_version(None):
            assert asked_version() == 24
    assert asked_version() == 23
    monkeypatch.setenv("COMPILER_GYM_LLVM_VERSION", "")
    assert asked_version() is None


def test_wrong_value_names_the_variable(monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LLVM_VERSION", "banana")
    with pytest.raises(ValueError, match="COMPILER_GYM_LLVM_VERSION=banana"):
        find_service_binary(SERVICE)


def test_files_and_tools_of_the_other_llvm(other):
    with use_version(OTHER):
        assert find_service_binary(SERVICE) == other / SERVICE
        assert find_service_file("compiler_gym-llvm-passes.so") is None
        assert llvm_tools.opt_path() == other / "bin" / "opt"
        assert llvm_tools.service_environment() == {"COMPILER_GYM_LLVM": str(other)}
        assert llvm_tools.llvm_version() == OTHER
    assert llvm_tools.llvm_version() == OWN
    assert llvm_tools.opt_path() != other / "bin" / "opt"


def test_older_tools_are_not_used_instead(other, monkeypatch):
    (other / "bin" / "opt").unlink()
    (other / "bin").rmdir()
    monkeypatch.setattr(llvm_tools, "_DEBIAN_ROOT", other)
    with use_version(OTHER), pytest.raises(EnvironmentNotSupported, match=rf"\[llvm{OTHER}\]"):
        llvm_tools.opt_path()


def test_the_package_s_own_version_needs_no_other(other):
    own = find_service_file("llvm_prefix.txt")
    with use_version(OWN):
        assert find_service_file("llvm_prefix.txt") == own


def test_a_version_that_is_not_installed(other):
    missing = OTHER + 1
    message = rf"only {OWN}, {OTHER}; .*\[llvm{missing}\]"
    with use_version(missing), pytest.raises(EnvironmentNotSupported, match=message):
        llvm_tools.llvm_version()


def test_files_of_the_build_beside_the_service(tmp_path):
    file = tmp_path / "llvm_prefix.txt"
    file.write_text("/opt/llvm\n19.1.7\n")
    folder, version = llvm_engines.llvm_of(file)
    assert (str(folder), version) == ("/opt/llvm", 19)
    assert llvm_engines.llvm_of(None) == (None, 22)
