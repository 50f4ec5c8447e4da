"""Runs the program as a process of its own, as its users do."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from compiler_gym.util import llvm_tools
from tests.prepared import PreparedInterpreter
from tests.processes import descendants, is_asleep, is_running, wait_until

# A source of a project, with something to gain in each function.
UNIT = """
static unsigned work(unsigned x) {
  unsigned sum = NUMBER;
  for (int i = 0; i < 100; i++) sum = (sum ^ (x >> i % 32)) * 31u + (sum << 7 | sum >> 25);
  return sum;
}
static unsigned twice(unsigned x) { return work(x) ^ work(x + 2); }
unsigned unit_NUMBER(unsigned x) { return twice(x) + work(x + 1) * work(x * 5); }
unsigned more_NUMBER(unsigned x) { return work(twice(x)) - unit_NUMBER(x); }
"""

# Small, since a search compiles it dozens of times; there is something to gain in each function.
LOOP = r"""
#include <stdio.h>
static unsigned table[64];
static unsigned mix(unsigned x, unsigned y) { return (x ^ y) * 2654435761u + (x >> 5); }
static void fill(unsigned seed, int step) {
  for (int i = 0; i < 64; i++) table[i] = mix(seed + i * step, i);
}
static unsigned sum(int n) {
  unsigned total = 0;
  for (int round = 0; round < n; round++)
    for (int i = 0; i < 64; i++) {
      total += table[i] * round;
      table[(i * 7) % 64] ^= mix(total, i) >> 3;
    }
  return total;
}
int main(void) {
  fill(7, 3);
  printf("%u\n", sum(20000) + sum(10000));
}
"""


def command(*arguments: str, module: str = "compiler_gym") -> list[str]:
    return [sys.executable, "-m", module, *map(str, arguments)]


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """A place of its own for everything that the program may keep, at 80 columns."""
    for name in ("SITE_DATA", "CACHE", "TRANSIENT_CACHE", "LOGS"):
        monkeypatch.setenv(f"COMPILER_GYM_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("COMPILER_GYM_DEBUG", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(name="scratch")
def fixture_scratch(environment, monkeypatch):
    """An empty folder for temporary files."""
    folder = environment.parent / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def own_clang(folder, script, monkeypatch):
    """Makes an LLVM whose clang is a script of a shell."""
    path = folder / "prefix" / "bin" / "clang"
    path.parent.mkdir(parents=True)
    for each in llvm_tools.clang_path().parent.iterdir():
        if each.name != "clang":
            (path.parent / each.name).symlink_to(each)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(folder / "prefix"))


@pytest.fixture(scope="session", name="prepared")
def fixture_prepared():
    # What the target of the test depends on.
    modules = ["compiler_gym.cli.app"]
    if find_spec("compiler_gym.envs.llvm.llvm_env"):
        modules += ["compiler_gym.envs.llvm.llvm_env"]
    if find_spec("compiler_gym.cli.optimize_several"):
        modules += ["compiler_gym.cli.optimize_several", "tests.cli.loaded_search"]
    return PreparedInterpreter(*modules)


@cache
def _prepared_wrapper():
    modules = ("compiler_gym.cli.smaller_object", "compiler_gym.cli.lock_file")
    return PreparedInterpreter(*modules, "tests.cli.loaded_search")


def compile_smaller(*words, function="cc", check=True):
    """Runs ``compiler-gym-cc`` or, with the function ``cxx``, ``compiler-gym-c++``."""
    argv = [function, *map(str, words)]
    code = (
        f"import sys\nsys.argv = {argv!r}\n"
        f"from compiler_gym.cli.compiler_wrapper import {function}\n{function}()\n"
    )
    done = _prepared_wrapper().run_code(code, Path.cwd(), dict(os.environ))
    assert not (check and done.returncode), done.stderr
    return done


@pytest.fixture(name="run")
def fixture_run(environment, prepared):
    """Runs the program to its end; its exit code is to be as expected."""

    def run(*arguments, code=0, stdin="", module="compiler_gym"):
        words = command(*arguments, module=module)
        if prepared.is_usable():
            done = prepared.run(module, words[3:], stdin)
        else:
            done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=280)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture(name="fails")
def fixture_fails(run):
    """Runs the program, which is to fail with a single line about it; returns that."""

    def fails(*arguments, code=1, **options):
        done = run(*arguments, code=code, **options)
        (line,) = done.stderr.splitlines()
        return line

    return fails


@pytest.fixture(name="interrupt")
def fixture_interrupt(environment):
    """Starts the program, presses Ctrl-C, checks what is left, and returns what it printed.

    Ctrl-C comes when the program has started a service, has printed ``shows``, and ``when`` is true
    of its process.
    """

    def interrupt(*arguments, shows="", when=lambda _: True, code=130, module="compiler_gym"):
        printed = environment.parent / "printed"
        with printed.open("w") as stdout:
            process = subprocess.Popen(
                command(*arguments, module=module),
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

        def is_time():
            assert process.poll() is None, f"It has ended before: {process.stderr.read()}"
            has_service = len(descendants(process.pid)) > 1
            return has_service and shows in printed.read_text() and when(process.pid)

        try:
            wait_until(is_time)
            started = descendants(process.pid)
            os.killpg(process.pid, signal.SIGINT)
            _, stderr = process.communicate(timeout=100)
        finally:
            process.kill()
        assert process.returncode == code, stderr
        assert "Traceback" not in stderr
        wait_until(lambda: not any(map(is_running, started)))
        return printed.read_text()

    return interrupt


@contextmanager
def serving(*arguments, module="compiler_gym"):
    """Starts a program that serves, and returns its process and the address that it prints."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = command(*arguments, module=module)
    with subprocess.Popen(words, start_new_session=True, **pipes) as process:
        try:
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


class Terminal:
    """A program at a terminal of 80 columns."""

    def __init__(self, *arguments):
        pid, self._fd = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(sys.executable, command(*arguments))
        self.pid = pid
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def give_up_line(self, prompt: str) -> None:
        """Presses Ctrl-C when the line has been drawn, and waits for a new prompt.

        Python's line editor misses a signal that comes while it draws the line.
        """
        wait_until(self._is_drawn)
        self.text = ""
        self.type("\x03")
        self.wait_for(prompt)

    def _is_drawn(self) -> bool:
        """Returns true if the program has nothing more to say and waits for a key."""
        is_waiting = is_asleep(self.pid)
        while select.select([self._fd], [], [], 0)[0]:
            self.text += os.read(self._fd, 4096).decode(errors="replace")
            is_waiting = False
        return is_waiting

    def wait_for(self, text: str) -> str:
        """Waits until a text is on the screen after what was waited for; returns what came."""
        end = time.monotonic() + 100
        while text not in self.text:
            assert time.monotonic() < end, f"No {text!r} in: {self.text[-500:]!r}"
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self._fd, 4096).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"No {text!r} before: {self.text[-500:]!r}") from None
        found, _, self.text = self.text.partition(text)
        return found

    def end(self, code: int = 0) -> None:
        """Waits for the end of the program; its exit code is to be as expected."""
        while True:
            try:
                text = os.read(self._fd, 4096)
            except OSError:  # As Linux says it.
                text = b""
            if not text:
                break
            self.text += text.decode(errors="replace")
        _, status = os.waitpid(self.pid, 0)
        assert os.waitstatus_to_exitcode(status) == code, self.text[-2000:]

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture(name="terminal")
def fixture_terminal(environment):
    opened = []

    def terminal(*arguments):
        opened.append(Terminal(*arguments))
        return opened[-1]

    yield terminal
    for each in opened:
        if is_running(each.pid):
            os.kill(each.pid, signal.SIGKILL)
        each.close()


@pytest.fixture(name="program_c")
def fixture_program_c(environment):
    """A small program; its file, in the working directory."""
    path = environment / "program.c"
    path.write_text(
        "int main(int n, char **p) {\n"
        "  int s = 0;\n"
        "  for (int i = 0; i < n; i++) s += i * n;\n"
        "  return s;\n"
        "}\n"
    )
    return path


@pytest.fixture(name="loop_c")
def fixture_loop_c(environment):
    """A program that takes some milliseconds; its file, in the working directory."""
    path = environment / "loop.c"
    path.write_text(LOOP)
    return path
