"""``compiler-gym doctor``."""

import json
import resource

import pytest

from compiler_gym.cli import doctor
from compiler_gym.cli.doctor import Check, Status
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from compiler_gym.util.confinement import Protections


def test_installed_parts_work(run):
    report = json.loads(run("doctor", "--json").stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["works"]
    for name in ("llvm-autophase-ic-v0", "llvm-inline-v0"):
        assert checks[name]["status"] == "ok"
        assert "makes a step: 22." in checks[name]["detail"]
    assert checks["clang"]["status"] == checks["C programs"]["status"] == "ok"
    assert {check["status"] for check in report["checks"]} <= {"ok", "missing"}


def test_each_missing_part_has_a_command_on_one_screen(run, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    lines = run("doctor").stdout.splitlines()  # It is no error to have no clang.
    assert len(lines) <= 40
    assert lines[-1] == "All that is installed works."
    (index,) = [i for i, line in enumerate(lines) if line.split()[:2] == ["missing", "clang"]]
    assert lines[index + 1].strip() == "try: pip install 'compiler_gym[clang]'"
    (index,) = [i for i, line in enumerate(lines) if line.startswith("missing C programs")]
    assert lines[index + 1].strip() == "try: pip install 'compiler_gym[clang]'"


def test_broken_part(run, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    clang = tmp_path / "bin" / "clang"
    clang.write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
    clang.chmod(0o700)
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    done = run("doctor", code=1)
    assert "failed  C programs" in done.stdout
    assert "no headers" in done.stdout
    assert "Does not work: C programs." in done.stdout


def test_extra_with_one_of_its_packages():
    """RLlib needs more than what the extra for Ray installs."""
    check = doctor._extra("rllib", "pytest", "no_such_package")
    assert check == Check("rllib", Status.MISSING, "", "pip install 'compiler_gym[rllib]'")
    assert doctor._extra("rllib", "pytest", "json").status is Status.OK


def test_missing_protections(monkeypatch):
    found = Protections(False, 0, True, False, "clone: Operation not permitted")
    monkeypatch.setattr(doctor, "protections", lambda: found)
    check = doctor._check("confinement", doctor._confinement, "docs")
    assert check.status is Status.MISSING
    assert check.detail == (
        "seccomp, limits; no namespaces: clone: Operation not permitted; programs can read "
        "files of the user, write files of the user, send signals to other programs of the user"
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EnvironmentNotSupported("none"), Status.MISSING),
        (EnvironmentNotSupported('none; try "mend it"'), Status.MISSING),
        (OSError("broken"), Status.FAILED),
        (RuntimeError("broken"), Status.FAILED),
    ],
)
def test_status_of_errors(error, status):
    def examine():
        raise error

    check = doctor._check("part", examine, "mend it")
    detail = str(error).removesuffix('; try "mend it"')
    assert check == Check("part", status, detail, "mend it")


def test_limits(monkeypatch, tmp_path):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert doctor._limit(resource.RLIMIT_AS, 7, "bytes") == "no limit of bytes"
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (7, 7))
    assert doctor._limit(resource.RLIMIT_AS, 7, "bytes") == "at most 7 bytes"
    with pytest.raises(OSError, match="8 bytes"):
        doctor._limit(resource.RLIMIT_AS, 8, "bytes")
    monkeypatch.setattr(doctor, "_MIN_FILES", 8)
    with pytest.raises(OSError, match="8 files"):
        doctor._files()
    monkeypatch.setattr(doctor, "_MIN_FREE_BYTES", 1 << 80)
    with pytest.raises(OSError, match="1 GiB"):
        doctor._folder(tmp_path)


def test_plugins_are_loaded_by_the_companion(monkeypatch, tmp_path):
    monkeypatch.setattr(llvm_tools, "companion_folder", lambda: tmp_path)
    program = tmp_path / "bin" / doctor._SHARED_SERVICE
    program.parent.mkdir()
    program.touch()
    assert str(program) in doctor._plugins()
