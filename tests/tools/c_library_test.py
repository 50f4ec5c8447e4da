"""The C library of the package compiler_gym_clang, for systems that have none to compile with."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.util import llvm_tools, started_programs
from tools import c_library, check_wheel, wheels

PROGRAM = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void bye(void) { puts("bye"); }

static void *twice(void *number) {
  *(double *)number *= 2;
  return NULL;
}

int main(int count, char **words) {
  atexit(bye);
  double root = sqrt(count + 7.0);
  pthread_t thread;
  pthread_create(&thread, NULL, twice, &root);
  pthread_join(thread, NULL);
  printf("%.1f %zu %d\\n", root, strlen(words[1]), getpid() == syscall(SYS_getpid));
  return 0;
}
"""
SYSTEM_FILES = (
    "usr/include/stdio.h",
    "usr/lib64/crt1.o",
    "usr/lib/gcc/x86_64-redhat-linux/13/crtbegin.o",
)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package as the wheel has it, with links to the installed clang."""
    folder = tmp_path_factory.mktemp("site") / "compiler_gym_clang"
    scratch = tmp_path_factory.mktemp("scratch")
    wheels.stage({p: source for p, source in c_library.files_of(scratch).items()}, folder)
    (folder / "bin").mkdir()
    # It looks for files of the system where there are none.
    c_library.build_launcher(folder / "bin" / "clang", root=str(scratch / "bare"))
    shutil.copy(folder / "bin" / "clang", folder / "bin" / "clang++")
    shutil.copy(llvm_tools.clang_path(), folder / c_library.FOLDER)
    llvm = llvm_tools.clang_path().resolve().parents[1]
    (folder / "bin" / "ld.lld").symlink_to(llvm / "bin" / "ld.lld")
    (folder / "lib").symlink_to(llvm / "lib")
    return folder


@pytest.fixture
def launcher(tmp_path):
    """A launcher of programs that print their place and arguments, for the system in ``root``."""
    for place in ("bin/clang-real", "c-library/clang"):
        path = tmp_path / place
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" {place} "$@"\n')
        path.chmod(0o755)
    path = tmp_path / "bin" / "clang"
    c_library.build_launcher(path, root=str(tmp_path / "root"))
    for place in SYSTEM_FILES:
        (tmp_path / "root" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / place).touch()
    return path


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def started(launcher, *words):
    """Returns the program that the launcher starts, and its arguments."""
    return run(launcher, *words).stdout.splitlines()


@pytest.mark.parametrize("missing", [None, *SYSTEM_FILES])
def test_compiler_of_the_system_and_its_own(launcher, tmp_path, missing):
    if missing:
        (tmp_path / "root" / missing).unlink()
    expected = ["c-library/clang" if missing else "bin/clang-real", "-c", "a b.c"]
    (tmp_path / "cc").symlink_to(launcher)
    for each in (launcher, tmp_path / "cc"):
        assert started(each, "-c", "a b.c") == expected


def test_missing_clang(launcher):
    (launcher.parent / "clang-real").unlink()
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"clang: cannot run .*/bin/clang-real: No such file", done.stderr)


def test_program_without_the_headers_and_startup_files_of_the_system(package, tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    command = [package / "bin" / "clang", "-O1", "-Wall", "-Werror", source, "-o", program]
    done = run(*command, "-lm", "-pthread", "-H", "-Wl,--trace")
    used = [line.lstrip(". ") for line in (done.stdout + done.stderr).splitlines() if "/" in line]
    headers = [path for path in used if path.endswith(".h")]
    objects = [path for path in used if path.endswith(".o") and "crt" in path]
    own = (str(package), str((package / "lib").resolve()))
    assert len(headers) > 20
    assert len(objects) >= 5
    assert [path for path in headers + objects if not path.startswith(own)] == []
    assert run(program, "four").stdout == "6.0 4 1\nbye\n"


def test_library_of_cxx(package, tmp_path):
    """Programs are linked with it, whether they are C++ or not."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    run(package / "bin" / "clang", source, "-o", program, *LIBRARIES)
    assert run(program, "four").stdout == "6.0 4 1\nbye\n"
    assert "libstdc++" not in run("objdump", "-p", program).stdout

    source = tmp_path / "program.cc"
    source.write_text("int main() { int *one = new int(1); int n = *one; delete one; return n; }\n")
    run(package / "bin" / "clang++", source, "-o", program)
    assert "libstdc++.so.6" in run("objdump", "-p", program).stdout
    assert subprocess.run([program]).returncode == 1


def test_object_file_without_warnings(package, tmp_path):
    """The options for the linker are unused then."""
    (tmp_path / "a.c").write_text("#include <stdio.h>\n")
    done = run(package / "bin" / "clang", "-c", tmp_path / "a.c", "-o", tmp_path / "a.o")
    assert done.stderr == ""


@pytest.mark.parametrize("sanitizer", ["address", "memory", "undefined"])
def test_sanitizers(package, tmp_path, sanitizer):
    """Validation runs programs with them."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    run(package / "bin" / "clang", f"-fsanitize={sanitizer}", source, "-o", program, "-lm")
    assert run(program, "four").stdout == "6.0 4 1\nbye\n"


def test_name_of_the_c_library_in_use(package, monkeypatch):
    monkeypatch.setattr(llvm_tools, "clang_path", lambda: package / "bin" / "clang")
    assert llvm_tools.companion_c_library() == package / "c-library"
    monkeypatch.undo()
    assert llvm_tools.companion_c_library() is None


def test_cxx_mode_is_kept(package):
    shown = run(package / "bin" / "clang++", "-###", "-x", "c++", "/dev/null").stderr
    assert '"-lstdc++"' in shown
    assert f'"-isysroot" "{package}/c-library"' in shown


def test_clang_is_kept_loaded(package, tmp_path):
    """Searches fork clang itself, rather than the launcher."""
    (tmp_path / "a.c").write_text("#include <stdio.h>\n")
    command = [package / "bin" / "clang", "-c", tmp_path / "a.c", "-o", tmp_path / "a.o"]
    assert started_programs.run_started(command).stderr == ""
    _, starter = started_programs._starters[str(command[0])]
    programs = Path(f"/proc/{starter._end.peek()[2][1].pid}/exe")
    assert programs.readlink() == package / "c-library" / "clang"


def test_files_of_the_c_library_have_to_be_listed(tmp_path):
    (component, *others) = check_wheel.third_party.debian_components(
        [Path("/usr/include/stdio.h"), Path("/usr/include/linux/futex.h")]
    )
    assert [c.name for c in (component, *others)] == ["libc6-dev", "linux-libc-dev"]
    # Debian 13 says "LGPL-2.1+" and "GPL-2".
    assert {"LGPL-2.1", "LGPL-2.1+"} & {*component.licenses}
    assert "GPL-2" in others[0].licenses
    path = tmp_path / "own.whl"
    bill = {"components": [{"name": component.name, "version": component.version}]}
    with ZipFile(path, "w") as wheel:
        information = "own-1.dist-info"
        wheel.writestr(f"{information}/{wheels.BILL_OF_MATERIALS}", json.dumps(bill))
        text = f"{component.name} {component.version}"
        wheel.writestr(f"{information}/licenses/{wheels.LICENSES}", text)
        made = ("clang.cfg", "usr/lib/x86_64-linux-gnu/libresolv.so")
        for place in ("usr/include/stdio.h", "usr/include/linux/futex.h", *made):
            wheel.writestr(f"own/{c_library.FOLDER}/{place}", "")
    (problem,) = check_wheel.check(path, [])
    assert re.fullmatch(r"linux-libc-dev \S+ is copied, and not in the bill of materials", problem)
