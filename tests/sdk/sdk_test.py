"""The SDK, used as docs/guides/your-own-compiler.md says, in folders that have nothing else."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import code_blocks
from tests.effort import IS_LONG

PAGE = "docs/guides/your-own-compiler.md"
VERSION = runfiles_path("VERSION").read_text().strip()
NAME = f"compiler_gym-sdk-{VERSION}"


def write_files(folder: Path, *names: str) -> None:
    """Writes files that the page shows."""
    for name in names:
        (text,) = code_blocks(PAGE, rf"[a-z]+ {re.escape(name)}")
        (folder / name).write_text(text)


def run(command: list[str], folder: Path) -> str:
    """Runs a command of the reader."""
    environment = {
        name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def play(service: Path) -> list[int]:
    """Returns the sizes in an episode, in a fork of it, and at the end of the episode."""
    program = Benchmark.from_file_contents("benchmark://texts-v0/first", b"a  b   c")
    with ClientServiceCompilerEnv(
        service=service, benchmark=program, observation_space="size"
    ) as env:
        sizes = [env.reset()]
        sizes.append(env.step(0)[0])
        with env.fork() as fork:
            sizes += [fork.step(0)[0], fork.step(0)[0], fork.step(0)[0]]
        sizes.append(env.multistep([0, 0])[0])
    return sizes


@pytest.fixture
def folder(tmp_path):
    """A folder with the SDK and the service of the page."""
    shutil.unpack_archive(runfiles_path(f"{NAME}.tar.gz"), tmp_path)
    write_files(tmp_path, "text_service.cc")
    return tmp_path


SIZES = [8, 7, 6, 5, 5, 5]


def test_in_python(tmp_path):
    write_files(tmp_path, "text_service.py")
    assert play(tmp_path / "text_service.py") == SIZES


def test_cmake(folder):
    write_files(folder, "CMakeLists.txt")
    prefix = f"-DCMAKE_PREFIX_PATH={folder / NAME}"
    run(["cmake", "-B", "build", prefix], folder)
    run(["cmake", "--build", "build"], folder)
    assert play(folder / "build" / "text_service") == SIZES


@pytest.mark.parametrize(("wanted", "is_there"), [("1.0", True), ("1.99", False), ("2", False)])
def test_versions(folder, wanted, is_there):
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(x CXX)\n"
        f'find_package(compiler_gym {wanted} QUIET)\nmessage("found ${{compiler_gym_FOUND}}")\n'
    )
    prefix = f"-DCMAKE_PREFIX_PATH={folder / NAME}"
    assert f"found {int(is_there)}\n" in run(["cmake", "-B", "build", prefix], folder)


def test_pkg_config(folder):
    write_files(folder, "build.sh")
    run(["sh", "-e", "build.sh"], folder)
    assert play(folder / "text_service") == SIZES
    help_text = run(["./text_service", "--help"], folder)
    assert help_text.startswith("text_service: Optimises texts.\n")
    assert run(["./text_service", "--version"], folder).strip().endswith(VERSION)


def installed_rules(folder: Path) -> list[str]:
    """Options of Bazel that say where Debian has the rules which Bazel would download."""
    rules_cc = folder / "rules_cc"
    shutil.copytree("/usr/share/bazel/rules/cc", rules_cc)
    for name in "cc_flags_supplier", "compiler_flag":
        # As in third_party/system.bzl: Debian's Bazel does not have this function yet.
        path = rules_cc / "cc" / "private" / "rules_impl" / f"{name}.bzl"
        text = path.read_text().replace(', "use_cpp_toolchain"', "")
        toolchain = '["@bazel_tools//tools/cpp:toolchain_type"]'
        path.write_text(text.replace("use_cpp_toolchain()", toolchain))
    places = {
        "rules_cc": rules_cc,
        "rules_java": "/usr/share/bazel/rules/java",
        "rules_proto": "/usr/share/bazel/rules/proto",
        "bazel_skylib": "/usr/share/bazel/tools/skylib",
        "platforms": "/usr/share/bazel/tools/platforms",
    }
    return [f"--override_repository={name}={place}" for name, place in places.items()]


@pytest.mark.skipif(not IS_LONG, reason="the long form: Bazel starts from nothing")
def test_bazel(folder):
    write_files(folder, "WORKSPACE", "BUILD")
    bazel = ["bazel", "--batch", f"--output_user_root={folder / 'bazel'}", "--nohome_rc"]
    options = ["--jobs=1", "--spawn_strategy=local", *installed_rules(folder)]
    run([*bazel, "build", *options, "//:text_service"], folder)
    assert play(folder / "bazel-bin" / "text_service") == SIZES


def test_nothing_but_what_is_public_is_installed(folder):
    readme = (folder / NAME / "README.md").read_text()
    include = folder / NAME / "include"
    headers = {str(path.relative_to(include)) for path in include.rglob("*") if path.is_file()}
    assert headers == set(re.findall(r"`(compiler_gym/[^`]*\.h)`", readme))
    assert VERSION in readme.splitlines()[0]
