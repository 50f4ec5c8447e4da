"""``compiler-gym integrate``: its files, used by the real build systems as the commands say."""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from compiler_gym.cli import wrapper_settings
from compiler_gym.cli.integrate import INTEGRATIONS
from compiler_gym.cli.project_build import compilers, read_log
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path
from tests.cli.conftest import UNIT, compile_smaller

_FILES = {
    "main.c": """
#include <stdio.h>
unsigned unit_5(unsigned x);
unsigned more_5(unsigned x);
static unsigned power(unsigned x, unsigned n) {
  unsigned product = 1;
  for (unsigned i = 0; i < n; i++) product = product * x + (product >> 3);
  return product;
}
static unsigned both(unsigned x) { return power(x, 7) ^ power(x + 1, 9) ^ power(x * 3, 11); }
int main(void) {
  for (unsigned i = 0; i < 4; i++) printf("%u %u\\n", unit_5(i), more_5(both(i) + both(i + 2)));
  return 0;
}
""",
    "lib/unit.c": UNIT.replace("NUMBER", "5"),
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.20)
project(program C)
add_subdirectory(lib)
add_executable(program main.c)
target_link_libraries(program unit)
""",
    "lib/CMakeLists.txt": "add_library(unit STATIC unit.c)\n",
    "meson.build": """
project('program', 'c')
subdir('lib')
executable('program', 'main.c', link_with: unit)
""",
    "lib/meson.build": "unit = static_library('unit', 'unit.c')\n",
    "Makefile": """
CC = cc
program: main.o lib/unit.o
	$(CC) -o $@ main.o lib/unit.o
""",
}

# The options of Bazel's toolchain that change code.
_OF_BAZEL = (
    *("-fstack-protector", "-fno-omit-frame-pointer", "-D_FORTIFY_SOURCE=1", "-DNDEBUG", "-Oz"),
    *("-ffunction-sections", "-fdata-sections"),
)
_WORKSPACE = {
    "BUILD": 'cc_binary(name = "program", srcs = ["main.c", "lib/unit.c"])\n',
    "WORKSPACE": 'load("//:system.bzl", "patched_rules_cc")\n'
    'patched_rules_cc(name = "rules_cc")\n'
    + "".join(
        f'local_repository(name = "{name}", path = "/usr/share/bazel/{path}")\n'
        for name, path in (
            ("rules_java", "rules/java"),
            ("rules_proto", "rules/proto"),
            ("bazel_skylib", "tools/skylib"),
            ("platforms", "tools/platforms"),
        )
    ),
}


@pytest.fixture(autouse=True)
def project(environment, monkeypatch):
    """A project with a source in a folder of its own. Its path has a blank."""
    folder = environment / "a project"
    (folder / "lib").mkdir(parents=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    for name, value in (("EVALUATIONS", "1"), ("OBJECTIVE", "text"), ("LOG", f"{environment}/log")):
        monkeypatch.setenv(f"COMPILER_GYM_{name}", value)
    return folder


@pytest.fixture(name="path")
def fixture_path(monkeypatch):
    """The compilers are on the PATH."""
    monkeypatch.setenv("PATH", os.path.dirname(compilers()["CC"]), prepend=os.pathsep)


def shell(*commands: str) -> str:
    """Runs commands as a user types them."""
    script = "\n".join(("set -e", *commands))
    done = subprocess.run(
        ["sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def commands_of(run, name: str) -> list[str]:
    """Writes the file of an integration. Returns the commands that it prints."""
    first, *commands = run("integrate", name).stdout.splitlines()
    assert first == f"Wrote {INTEGRATIONS[name].file}. Next:"
    return [line.removeprefix("  ") for line in commands]


def log(kind: str, note: str = "") -> list[str]:
    """Returns the names of the object files of a kind."""
    lines = read_log(Path(os.environ["COMPILER_GYM_LOG"]))
    return [Path(each.output).name for each in lines if (each.kind, each.note) == (kind, note)]


def check(program: str, *options: str) -> None:
    """Checks the program and the object files of a build.

    Args:
        program: The program.
        options: The options of clang in the build.
    """
    clang = llvm_tools.clang_path()
    plain = Path("clang")
    objects = [*Path(program).parent.resolve().rglob("*.o")]
    plain.mkdir()
    sizes = []
    for source in ("main.c", "lib/unit.c"):
        path = plain / Path(source).with_suffix(".o").name
        subprocess.run([clang, *options, "-c", source, "-o", path], check=True)
        (made,) = (each for each in objects if each.name.startswith(path.stem))
        sizes.append((read_object(made).text, read_object(path).text))
    assert all(made <= before for made, before in sizes) and sizes[0][0] < sizes[0][1]
    subprocess.run([clang, *plain.glob("*.o"), "-o", plain / "program"], check=True)
    expected = subprocess.check_output([plain / "program"])
    assert subprocess.check_output([program]) == expected and expected.count(b"\n") == 4
    assert len(log("search")) == 2


def test_cmake(run, path):
    shell(*commands_of(run, "cmake"))
    check("build/program", "-Os", "-DNDEBUG")


def test_meson(run, path):
    shell(*commands_of(run, "meson"))
    check("build/program", "-Os", "-g")


def test_meson_for_another_target(run, path, monkeypatch):
    monkeypatch.setenv("CC_FOR_BUILD", "cc")  # Otherwise Meson would start a server of sccache.
    shell(*commands_of(run, "meson-cross"))
    assert len(log("search")) == 2
    printed = shell("qemu-aarch64 -L /usr/aarch64-linux-gnu build/program")
    assert printed == shell("cc main.c lib/unit.c -o program", "./program")


def test_make(run, path):
    shell(*commands_of(run, "make"))
    check("./program", "-Oz")
    assert "up to date" in shell("make")


def test_make_without_the_compilers(run):
    export, *commands = commands_of(run, "make")
    assert export == f'export PATH={os.path.dirname(compilers()["CC"])}:"$PATH"'
    with pytest.raises(AssertionError, match="is not on the PATH"):
        shell(*commands)


def test_settings_that_bazel_passes_on():
    """All but those that name files, and those of `build` and of the cache."""
    passed = set(re.findall(r"--action_env=(\w+)$", INTEGRATIONS["bazel"].text, re.M))
    names = {each for each in vars(wrapper_settings).values() if isinstance(each, str)}
    known = {each for each in names if re.fullmatch(r"COMPILER_GYM_[A-Z_]+", each)}
    own = "EXCLUDE_FROM FROZEN LOCK LOG MEMORY POLICY RECORD SOLE"
    others = {f"COMPILER_GYM_{name}" for name in own.split()}
    assert known - passed - {wrapper_settings.PREFIX, wrapper_settings.SETTINGS} == others
    assert passed < known


def test_bazel(run, path, environment, monkeypatch):
    monkeypatch.delenv("TEST_TMPDIR", raising=False)  # Bazel would have its own output there.
    version = shell("bazel --version").split()[-1]  # Debian's Bazel 4 has no version.
    if version.partition(".")[0].isdecimal() and int(version.partition(".")[0]) > 6:
        pytest.skip("not checked: the workspace of this test is one for Bazel 4 to 6")
    folder = environment / "workspace"  # Bazel does not work in a folder with a blank.
    shutil.move(Path.cwd(), folder)
    monkeypatch.chdir(folder)
    for name, text in _WORKSPACE.items():
        (folder / name).write_text(text)
    shutil.copy(runfiles_path("third_party/system.bzl"), folder)
    # A short life needs no optimised Java. The log of an action is visible to this test.
    with (folder / ".bazelrc").open("w") as file:
        file.write(
            f"startup --output_base={environment}/bazel --max_idle_secs=60\n"
            "startup --host_jvm_args=-XX:TieredStopAtLevel=1 --host_jvm_args=-XX:+UseSerialGC\n"
            f"build --action_env=COMPILER_GYM_LOG --sandbox_writable_path={environment}\n"
        )
    commands = commands_of(run, "bazel")
    try:
        shell(*commands)
        check("bazel-bin/program", *_OF_BAZEL)
        shell(commands[-1])
        assert len(log("search")) == 2
        shell("export COMPILER_GYM_EVALUATIONS=0", commands[-1])
        assert len(log("search")) == 4
    finally:
        shell("bazel shutdown")


def test_ccache(run, path, monkeypatch):
    monkeypatch.setenv("CCACHE_DIR", os.path.abspath("cache"))
    run("integrate", "cmake")
    commands = commands_of(run, "ccache")
    cmake = commands[
        commands.index("# CMake, with the file of 'compiler-gym integrate cmake':") + 1 :
    ]
    shell(*cmake, "cmake --build build")
    check("build/program", "-Os", "-DNDEBUG")
    check_cache("cmake --build build --clean-first")


def test_sccache(run, path, monkeypatch):
    monkeypatch.setenv("SCCACHE_DIR", os.path.abspath("cache"))
    with socket.create_server(("localhost", 0)) as free:
        monkeypatch.setenv("SCCACHE_SERVER_PORT", str(free.getsockname()[1]))
    title, level, *make = commands_of(run, "sccache")[:4]
    assert title == "# Make:"
    try:
        shell(level, *make)
        check("./program", "-Oz")
        check_cache(level, *make)
    finally:
        shell("sccache --stop-server")


def check_cache(*build: str) -> None:
    """Checks that a cache returns the same object files, but not those of another setting."""

    def contents():
        found = (each for each in Path().rglob("*.o") if each.parent.name != "clang")
        return {each: each.read_bytes() for each in found}

    made = contents()
    shell(*build)
    assert len(log("search")) == 2 and not log("kept")
    assert contents() == made and len(made) == 2
    # With another setting, and with a lock file, the compiler runs.
    shell("export COMPILER_GYM_EVALUATIONS=0", *build)
    assert len(log("kept")) == 2
    shell("export COMPILER_GYM_EVALUATIONS=0", 'export COMPILER_GYM_LOCK="$PWD/lock"', *build)
    assert len(log("clang", "no entry in the lock file")) == 2


@pytest.mark.parametrize("name", ["ccache", "sccache"])
def test_launchers_of_env(name, tmp_path):
    """The key has the settings of ``env NAME=VALUE compiler-gym-cc``."""
    for program, script in (
        ("launcher", INTEGRATIONS[name].text),
        ("compiler-gym-cc", '#!/bin/sh\necho "key of $COMPILER_GYM_LEVEL"\n'),
        (name, '#!/bin/sh\necho "$CCACHE_COMPILERCHECK$SCCACHE_C_CUSTOM_CACHE_BUSTER: $*"\n'),
    ):
        (tmp_path / program).write_text(script)
        (tmp_path / program).chmod(0o755)
    for words, made in (
        ("env COMPILER_GYM_LEVEL=-Oz A=b compiler-gym-cc -c x=y.c", "key of -Oz: {} -c x=y.c"),
        ("/usr/bin/env compiler-gym-cc -c a.c", "key of : {} -c a.c"),
        ("env A=b cc -c a.c", ": cc -c a.c"),
        ("env -u A cc -c a.c", ": env -u A cc -c a.c"),
    ):
        done = subprocess.run(
            [tmp_path / "launcher", *words.split()],
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip().removeprefix("string:") == made.format("compiler-gym-cc")


def test_cache_key(project, monkeypatch):
    def key(*words):
        return compile_smaller("-Oz", "-c", "main.c", "--cache-key", *words).stdout.strip()

    first = key()
    monkeypatch.setenv("COMPILER_GYM_LOG", "another")
    assert len(first) == 64 and key() == first
    names = project / "names"
    names.touch()
    keys = {first}
    for name, value in (("BUDGET", "3s"), ("EVALUATIONS", "3"), ("EXCLUDE_FROM", str(names))):
        monkeypatch.setenv(f"COMPILER_GYM_{name}", value)
        keys.add(key())
    names.write_text("both\n")
    keys.add(key())
    assert len(keys) == 5
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "# +-Os")
    assert key() not in keys
    # The keys of caches have the text of a source, and not its name.
    monkeypatch.setenv("COMPILER_GYM_EXCLUDE", "lib/unit.c")
    assert key("lib/unit.c") != key("lib/other.c") == key()
    assert key("@arguments") == ""
    assert key("--lock=size.lock") == key("--lock", "size.lock") == ""
    monkeypatch.setenv("COMPILER_GYM_EVALUATION", "3")
    assert compile_smaller("--cache-key", check=False).returncode == 1
    assert not (project / "main.o").exists()


def test_files_of_others_are_kept(run, fails, tmp_path):
    (tmp_path / "b c").mkdir()
    words = ("integrate", "ccache", "--output", tmp_path / "b c")
    path = tmp_path / "b c" / "compiler_gym-ccache"
    assert run(*words).stdout.splitlines()[0] == f"Wrote {path}. Next, in {path.parent}:"
    assert os.access(path, os.X_OK) and path.read_text() == INTEGRATIONS["ccache"].text
    assert run(*words).stdout.startswith(f"{path} is up to date. Next")
    path.write_text("mine")
    line = f"compiler-gym: {path} exists, and differs from the file of this version; "
    assert fails(*words) == f"{line}--force replaces it"
    assert path.read_text() == "mine"
    run(*words, "--force")
    assert path.read_text() == run("integrate", "ccache", "--print").stdout


def test_lines_fit_into_a_terminal(run):
    for line in run("integrate").stdout.splitlines():
        assert len(line) <= 80 and line.split()[0] in INTEGRATIONS
    for each in INTEGRATIONS.values():
        lines = [f"  {line}" for line in each.commands] if each.file else [each.refusal]
        assert lines and max(map(len, lines)) <= 80
