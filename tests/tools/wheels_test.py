"""Wheels: the same bytes from the same files, and documents that list what is in them."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.effort import IS_LONG
from tests.processes import run_interpreter
from tools import archives, check_wheel, third_party, wheels
from tools.target_system import THIS_SYSTEM

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "small"
version = "1.2.3"

[tool.setuptools]
packages = ["small"]

[tool.setuptools.package-data]
"*" = ["*"]
"""


@pytest.fixture(scope="module")
def main_wheel():
    (path,) = runfiles_path().glob("compiler_gym-*.whl")
    return path


def pack(folder, names):
    """Packs a small tree in a folder, whose files are made in this order, and returns the bytes."""
    folder.mkdir()
    sources = {"module.py": b"NUMBER = 1\n", "__init__.py": b"", "data.txt": b"some data\n" * 100}
    files = {}
    for name in names:
        files[f"small/{name}"] = folder / f"source-{name}"
        files[f"small/{name}"].write_bytes(sources[name])
    files["small/program"] = Path("/bin/true")
    tree = folder / "tree"
    wheels.stage(files, tree)
    (tree / "pyproject.toml").write_text(PROJECT)
    output = folder / f"small-1.2.3-py3-none-{THIS_SYSTEM.platform}.whl"
    wheels.build(tree, output, bill="{}")
    return output.read_bytes()


def test_same_files_make_the_same_bytes(tmp_path):
    mask = os.umask(0o022)
    try:
        first = pack(tmp_path / "first", ["module.py", "__init__.py", "data.txt"])
        os.umask(0o077)
        second = pack(tmp_path / "second", ["data.txt", "__init__.py", "module.py"])
    finally:
        os.umask(mask)
    assert first == second


def test_program_that_old_systems_cannot_load(tmp_path, monkeypatch):
    """The tag is checked, whatever was done before to make the programs fit it."""
    monkeypatch.setattr(wheels, "adapt_programs", lambda *_: None)
    with pytest.raises(SystemExit, match=f"{THIS_SYSTEM.platform}.*too-recent versioned symbols"):
        pack(tmp_path / "new", ["__init__.py"])


def test_name_of_another_version(tmp_path):
    shutil.copyfile("/bin/true", tmp_path / "program")
    tree = tmp_path / "tree"
    wheels.stage(
        {"small/__init__.py": Path(os.devnull), "small/program": tmp_path / "program"}, tree
    )
    (tree / "pyproject.toml").write_text(PROJECT)
    with pytest.raises(SystemExit, match=r"small-9\.whl.*small-1\.2\.3-py3"):
        wheels.build(tree, tmp_path / "small-9.whl")


def test_archives_do_not_depend_on_names_and_times(tmp_path):
    for name in ("first.tar.gz", "second.tar.gz"):
        with archives.create(tmp_path / name) as archive:
            archives.add(archive, "folder/run.sh", b"exit 0\n", is_executable=True)
    first, second = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert first == second
    with tarfile.open(tmp_path / "first.tar.gz") as archive:
        assert archive.getmember("folder/run.sh").mode == 0o755


def archive_sources(tree, output):
    """Runs the program that archives a source tree."""
    words = ["-m", "tools.build_source_archive", tree / "WORKSPACE", output]
    return run_interpreter(*words, code=None)


def test_source_archive_has_the_files_of_git(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("WORKSPACE", "deleted.txt", "ignored.txt"):
        (tree / name).write_text("before\n")
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    subprocess.run(["git", "-C", tree, "add", "WORKSPACE", "deleted.txt"], check=True)
    (tree / "WORKSPACE").write_text("after\n")
    (tree / "deleted.txt").unlink()
    output = tmp_path / "sources-1.tar.gz"
    assert archive_sources(tree, output).returncode == 0
    with tarfile.open(output) as archive:
        assert archive.getnames() == ["sources-1/WORKSPACE"]
        assert archive.extractfile("sources-1/WORKSPACE").read() == b"after\n"


def test_source_archive_without_git(tmp_path):
    (tmp_path / "WORKSPACE").touch()
    done = archive_sources(tmp_path, tmp_path / "sources-1.tar.gz")
    assert done.returncode == 1
    assert f"expected a clone of the repository in {tmp_path}, got" in done.stderr


def link_line():
    return runfiles_path("wheel_link_lines.txt").read_text().splitlines()


def test_bill_of_materials_lists_all_linked_libraries(main_wheel):
    assert len(third_party.archives_of(link_line())) > 100  # Most of them are of LLVM.
    assert check_wheel.check(main_wheel, link_line()) == []


@pytest.mark.skipif(not IS_LONG, reason="auditwheel checks the tag when the wheel is built, too")
def test_auditwheel_confirms_the_tag(main_wheel):
    command = [sys.executable, "-m", "auditwheel", "show", main_wheel]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert f'following platform tag: "{THIS_SYSTEM.platform}"' in " ".join(shown.split())


def test_packages_of_files(tmp_path):
    (component,) = third_party.debian_components([Path("/usr/lib/x86_64-linux-gnu")])
    assert component.kind == "deb"
    assert "," not in component.name
    with pytest.raises(SystemExit, match=r"own\.a"):
        third_party.debian_components([tmp_path / "own.a"])


def test_unlisted_library_is_found(main_wheel):
    with ZipFile(main_wheel) as wheel:
        listed = check_wheel.listed_packages(wheel)
    (problem,) = check_wheel.unlisted([*link_line(), "-l:libgtest.a"], listed)
    assert re.fullmatch(r"libgtest-dev \S+ is linked, and not in the bill of materials", problem)


def test_metadata(main_wheel):
    with ZipFile(main_wheel) as wheel:
        (place,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(place))
    version = runfiles_path("VERSION").read_text().strip()
    assert metadata["Name"] == "compiler_gym"
    assert metadata["Version"] == version
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("License-File") == ["LICENSE"]
    for extra in ("clang", "mlir"):
        required = f'compiler_gym_{extra}=={version}; extra == "{extra}"'
        assert required in metadata.get_all("Requires-Dist")


def test_nothing_but_the_package_is_installed(main_wheel):
    with ZipFile(main_wheel) as wheel:
        tops = {name.partition("/")[0] for name in wheel.namelist()}
        times = {entry.date_time for entry in wheel.infolist()}
    assert {re.sub(r"-.*", "", top) for top in tops} == {"compiler_gym"}
    assert times == {(1980, 1, 1, 0, 0, 0)}
