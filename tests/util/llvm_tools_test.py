import stat
from pathlib import Path

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools

REQUIRED = llvm_tools.llvm_version()
ALL_TOOLS = (
    llvm_tools.clang_path,
    llvm_tools.opt_path,
    llvm_tools.llvm_link_path,
    llvm_tools.llvm_as_path,
    llvm_tools.llvm_dis_path,
    llvm_tools.llvm_diff_path,
    llvm_tools.llvm_extract_path,
    llvm_tools.llvm_size_path,
    llvm_tools.llvm_stress_path,
    llvm_tools.llc_path,
    llvm_tools.lli_path,
)


def make_executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def no_debian(monkeypatch, tmp_path):
    """A machine without /usr/lib/llvm-N and with an empty PATH."""
    monkeypatch.delenv("COMPILER_GYM_LLVM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(llvm_tools, "_DEBIAN_ROOT", tmp_path / "lib")
    monkeypatch.setattr(llvm_tools, "_llvm_of_service", lambda asked: (None, REQUIRED))
    monkeypatch.setattr(llvm_tools, "companion_folder", lambda: None)
    llvm_tools._tool_path.cache_clear()
    yield tmp_path
    llvm_tools._tool_path.cache_clear()


def make_tool(folder: Path, version: str = "") -> Path:
    return make_executable(folder / "opt", f"#!/bin/sh\necho 'LLVM version {version}'\n")


@pytest.mark.parametrize("path", ALL_TOOLS, ids=lambda function: function.__name__)
def test_installed_tool_is_of_the_required_version(path):
    assert path().is_absolute()
    assert f"version {llvm_tools.llvm_version()}." in llvm_tools.tool_version(path())


def test_variable_comes_first(monkeypatch, tmp_path):
    clang = make_executable(tmp_path / "bin" / "clang", "#!/bin/sh\n")
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    assert llvm_tools.clang_path() == clang


def test_the_companion_package_and_the_llvm_of_the_service_come_next(no_debian, monkeypatch):
    make_tool(no_debian / "lib" / f"llvm-{REQUIRED}" / "bin")
    own = no_debian / "own", REQUIRED
    monkeypatch.setattr(llvm_tools, "_llvm_of_service", lambda asked: own)
    tools = [make_tool(no_debian / name / "bin") for name in ("own", "companion")]
    for folder, tool in zip((None, no_debian / "companion"), tools, strict=True):
        monkeypatch.setattr(llvm_tools, "companion_folder", lambda folder=folder: folder)
        llvm_tools._tool_path.cache_clear()
        assert llvm_tools.opt_path() == tool


def test_services_are_told_of_the_companion_package(monkeypatch, tmp_path):
    monkeypatch.delenv("COMPILER_GYM_LLVM", raising=False)
    monkeypatch.setattr(llvm_tools, "companion_folder", lambda: None)
    assert llvm_tools.service_environment() == {}
    monkeypatch.setattr(llvm_tools, "companion_folder", lambda: tmp_path)
    assert llvm_tools.service_environment() == {"COMPILER_GYM_LLVM": str(tmp_path)}
    monkeypatch.setenv("COMPILER_GYM_LLVM", "/opt/llvm")  # Which a service inherits.
    assert llvm_tools.service_environment() == {}


def test_the_companion_package_is_found(monkeypatch, tmp_path):
    (tmp_path / "compiler_gym_clang").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    llvm_tools._companion_folder.cache_clear()
    assert llvm_tools.companion_folder() == tmp_path / "compiler_gym_clang"
    llvm_tools._companion_folder.cache_clear()


@pytest.mark.parametrize(
    ("versions", "best"),
    # The required version is better than newer ones, and these are better than none.
    [((REQUIRED - 1, REQUIRED, REQUIRED + 1), REQUIRED), ((9, 100, REQUIRED + 1), REQUIRED + 1)],
)
def test_versions_of_debian(no_debian, versions, best):
    for version in versions:
        make_tool(no_debian / "lib" / f"llvm-{version}" / "bin")
    assert llvm_tools.opt_path().parts[-3] == f"llvm-{best}"


@pytest.mark.parametrize("name", [f"opt-{REQUIRED}", "opt"])
def test_tool_on_the_path(no_debian, name):
    opt = make_tool(no_debian / "path", f"{REQUIRED}.1.0")
    opt = opt.rename(opt.with_name(name))
    assert llvm_tools.opt_path() == opt


def test_old_version_is_not_used(no_debian):
    make_tool(no_debian / "path", "14.0.6")
    with pytest.raises(EnvironmentNotSupported):
        llvm_tools.opt_path()


@pytest.mark.parametrize(
    ("path", "package"), [(llvm_tools.clang_path, "clang"), (llvm_tools.llvm_link_path, "llvm")]
)
def test_missing_tool_names_the_package(no_debian, path, package):
    with pytest.raises(
        EnvironmentNotSupported, match=f"apt-get install {package}-{llvm_tools.llvm_version()}"
    ) as error:
        path()
    assert "pip install 'compiler_gym[clang]'" in str(error.value)


def test_version_of_a_failing_tool(tmp_path):
    broken = make_executable(tmp_path / "clang", "#!/bin/sh\nexit 3\n")
    with pytest.raises(EnvironmentNotSupported, match="exit code 3"):
        llvm_tools.tool_version(broken)


def test_commands_find_clang_after_all_others(monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path / "llvm"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert llvm_tools.command_environment()["PATH"] == "/usr/bin:/bin"  # There is no clang.
    make_executable(tmp_path / "llvm" / "bin" / "clang", "#!/bin/sh\n")
    llvm_tools._tool_path.cache_clear()
    assert llvm_tools.command_environment()["PATH"] == f"/usr/bin:/bin:{tmp_path}/llvm/bin"
