"""Programs that are started once and run many times."""

import contextlib
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, commands_of, kill_running_commands, run_command
from compiler_gym.util.runfiles_path import find_service_file
from compiler_gym.util.started_programs import run_started
from tests.processes import python_environment, wait_until

BASH = "/bin/bash"
_IMPORT = "from compiler_gym.util.started_programs import run_started"

# A shell with a child that both hold the FIFO $0 open for ever.
HOLD_OPEN = 'exec 3>"$0"; sleep 1000 & echo ready >&3; wait'

SOURCE = """
#include <stddef.h>
int unused(int);
size_t length(const char* s) { size_t n = 0; int i; while (s[n]) ++n; return n; }
float sum(const float* v, int n) { float s = 0; for (int i = 0; i < n; ++i) s += v[i]; return s; }
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.c"
    path.write_text(SOURCE)
    return path


def await_ready(file) -> None:
    select.select([file], [], [])
    assert file.read(6) == b"ready\n"


def parent_in(cmd) -> int:
    return int(run_started(cmd).stdout)


def test_program_is_loaded_once():
    starters = {parent_in([BASH, "-c", "echo $PPID"]) for _ in range(3)}
    assert len(starters) == 1
    assert starters != {os.getpid()}


def test_programs_inherit_as_from_an_ordinary_start(monkeypatch, tmp_path):
    monkeypatch.setenv("GREETING", "hello")
    monkeypatch.chdir(tmp_path)
    env = ["/usr/bin/env"]
    # Not the variables that libraries of C have set, which os.environ does not know.
    assert run_started(env).stdout == run_command(env, env={**os.environ}).stdout
    show = "cat; pwd; ulimit -a; umask; kill -l >/dev/null; trap; ls -l /proc/self/fd | wc -l"
    words = [BASH, "-c", f'{show}; printf "<%s>" "$0" "$@"', "zero", "", "ünï 'x'\n", "end"]
    assert run_started(words).stdout == run_command(words).stdout


def test_preloaded_libraries_of_others_stay(monkeypatch):
    library = "/lib/x86_64-linux-gnu/libdl.so.2"
    monkeypatch.setenv("LD_PRELOAD", library)
    words = [BASH, "-c", "echo $LD_PRELOAD $PPID"]
    preloaded, parent = run_started(words).stdout.split()
    assert preloaded == library
    assert int(parent) != os.getpid()


def test_change_of_the_environment_reaches_programs(monkeypatch):
    words = [BASH, "-c", "echo $GREETING"]
    assert run_started(words).stdout == "\n"
    monkeypatch.setenv("GREETING", "hello")
    assert run_started(words).stdout == "hello\n"


@pytest.mark.parametrize("script", ["echo said; echo why >&2; exit 3", "kill -SEGV $$", "exit 127"])
def test_failures_are_those_of_an_ordinary_start(script):
    errors = []
    for run in (run_command, run_started):
        with pytest.raises(CommandError) as raised:
            run([BASH, "-c", script])
        error = raised.value
        errors.append((error.returncode, error.cmd, error.stdout, error.stderr, str(error)))
    assert errors[0] == errors[1]


def test_program_that_does_not_exist_is_an_error():
    with pytest.raises(FileNotFoundError):
        run_started(["/no/such/program"])


def test_scripts_are_started_each_time(tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{BASH}\necho $PPID\n")
    script.chmod(0o755)
    assert parent_in([script]) == os.getpid()


def test_static_programs_are_started_each_time(tmp_path):
    source, program = tmp_path / "source.c", tmp_path / "program"
    source.write_text(
        '#include <stdio.h>\n#include <unistd.h>\nint main() { printf("%d\\n", getppid()); }\n'
    )
    run_command([llvm_tools.clang_path(), "-static", source, "-o", program])
    assert {parent_in([program]), parent_in([program])} == {os.getpid()}


def test_changed_program_is_loaded_again(tmp_path):
    program = tmp_path / "program"
    for source, expected in (("/bin/true", 0), ("/bin/false", 1)):
        program.unlink(missing_ok=True)
        program.write_bytes(Path(source).read_bytes())
        program.chmod(0o755)
        assert run_started([program], check=False).returncode == expected


def test_time_limit_ends_a_program():
    with pytest.raises(subprocess.TimeoutExpired):
        run_started(["/bin/sleep", "1000"], timeout=0)
    assert run_started([BASH, "-c", "echo next"], timeout=100).stdout == "next\n"


def test_everything_that_a_program_started_ends_with_it(fifo):
    path, file = fifo
    assert run_started([BASH, "-c", f"({HOLD_OPEN}) & head -c 0 $0", path]).returncode == 0
    assert file.readall() in (b"", b"ready\n")


def test_other_threads_can_kill_programs(fifo):
    path, file = fifo
    codes = []

    def run() -> None:
        with commands_of("me"):
            codes.append(run_started([BASH, "-c", HOLD_OPEN, path], check=False).returncode)

    thread = threading.Thread(target=run)
    thread.start()
    await_ready(file)
    kill_running_commands("somebody else")
    assert not codes
    kill_running_commands("me")
    thread.join()
    assert codes == [-signal.SIGKILL]
    assert file.readall() == b""


def test_nothing_is_left_when_the_client_is_killed(fifo):
    path, file = fifo
    words = [BASH, "-c", HOLD_OPEN, str(path)]
    script = f"{_IMPORT}\nrun_started({words!r})"
    with subprocess.Popen([sys.executable, "-c", script], env=python_environment()) as client:
        await_ready(file)
        client.kill()
    assert file.readall() == b""


def test_killed_starter_is_replaced_by_an_ordinary_start():
    words = [BASH, "-c", "echo $PPID"]
    os.kill(parent_in(words), signal.SIGKILL)
    assert parent_in(words) == os.getpid()


def test_forked_process_has_a_starter_of_its_own():
    words = [BASH, "-c", "echo $PPID"]
    parent = parent_in(words)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if parent_in(words) not in (parent, os.getppid()) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert parent_in(words) == parent


@pytest.fixture
def sleeping():
    """A starter of ``sleep``, and the socket for its requests."""
    library = find_service_file("compiler_gym-program-starter.so")
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        starter = subprocess.Popen(
            ["/bin/sleep"],
            env={"LD_PRELOAD": str(library), "COMPILER_GYM_STARTER": str(its.fileno())},
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
    with starter, ours:
        assert ours.recv(1)
        yield starter, ours
        ours.close()


def request(requests, *words, output=subprocess.DEVNULL) -> socket.socket:
    """Requests a copy, and returns the socket for its status."""
    reply, copy = socket.socketpair()
    body = b"".join(word.encode() + b"\0" for word in ("/", "sleep", *words))
    with copy, open(os.devnull) as null:
        streams = [null.fileno(), null.fileno() if output < 0 else output, null.fileno()]
        socket.send_fds(requests, [b"\1"], [*streams, copy.fileno()])
    with contextlib.suppress(BrokenPipeError):  # It has been refused already.
        reply.sendall(struct.pack("=I", len(body)) + body)
    return reply


def children_of(process) -> list[str]:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def test_starter_with_a_full_table_and_waiting_requests_ends_with_its_client(sleeping):
    starter, requests = sleeping
    replies = [request(requests, "1000") for _ in range(256)]
    wait_until(lambda: len(children_of(starter)) == 256)
    copies = children_of(starter)
    read, write = os.pipe()
    replies += [request(requests, "--version", output=write) for _ in range(3)]
    os.close(write)
    requests.close()
    assert starter.wait(timeout=60) == 0
    with open(read, "rb") as output:
        assert output.read() == b""
    assert not [pid for pid in copies if Path(f"/proc/{pid}").exists()]
    assert {reply.recv(4) for reply in replies[:256]} == {struct.pack("=i", signal.SIGKILL)}
    for reply in replies:
        reply.close()


def test_starter_without_free_descriptors_refuses_requests_and_keeps_its_copies(sleeping):
    starter, requests = sleeping
    with request(requests, "1000") as running:
        wait_until(lambda: len(children_of(starter)) == 1)
        used = len(os.listdir(f"/proc/{starter.pid}/fd"))
        resource.prlimit(starter.pid, resource.RLIMIT_NOFILE, (used + 2, used + 2))
        with request(requests, "1000") as refused, contextlib.suppress(ConnectionResetError):
            assert refused.recv(4) == b""
        assert len(children_of(starter)) == 1
        running.shutdown(socket.SHUT_WR)
        assert running.recv(4) == struct.pack("=i", signal.SIGKILL)


def test_ends_are_noticed_although_the_client_ignores_them():
    words = [BASH, "-c", "echo $PPID"]
    script = f"{_IMPORT}\nprint(run_started({words!r}, timeout=60).stdout)"
    ignoring = ["/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", sys.executable, "-c", script]
    assert int(subprocess.check_output(ignoring, env=python_environment(), timeout=100)) > 1


def test_library_loads_no_other_than_that_of_c():
    library = find_service_file("compiler_gym-program-starter.so")
    text = run_command([llvm_tools.tool_path("llvm-readelf"), "--needed-libs", library]).stdout
    assert text.split()[2:-1] == ["libc.so.6"]


def test_many_threads_share_a_starter():
    numbers = [*range(40)]
    results = {}

    def run(number: int) -> None:
        results[number] = run_started([BASH, "-c", f"echo {number} $PPID"]).stdout.split()

    threads = [threading.Thread(target=run, args=[number]) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(results[number][0]) for number in numbers] == numbers
    assert len({parent for _, parent in results.values()}) == 1


def code_from_files(program) -> int:
    """Returns the bytes of the code of a started program that are pages of its files."""
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            # One that has ended, and was not waited for yet, has no program.
            exe = Path(f"/proc/{pid}/exe")
            if exe.exists() and exe.samefile(program):
                maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
                code = (line.split() for line in maps if " r-xp " in line)
                ranges = (words[0].split("-") for words in code if len(words) > 5)
                return sum(int(end, 16) - int(begin, 16) for begin, end in ranges)
    raise AssertionError(f"{program} is not loaded")


@pytest.fixture(scope="module")
def clang_on_large_pages():
    """clang moves to large pages when it has run 100 times."""
    clang = llvm_tools.clang_path()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("ANOTHER", "environment")  # So clang starts anew.
        run_started([clang, "--version"])
        before = code_from_files(clang)
        for _ in range(100):
            run_started([clang, "--version"])
        pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if pages.exists() and "[never]" not in pages.read_text():
            assert code_from_files(clang) < before / 4
        yield


@pytest.mark.parametrize(
    "options",
    [
        ["-Oz"],
        ["-O2", "-g", "-fPIC"],
        ["-Wall", "-Wextra", "-fcolor-diagnostics"],
        ["-fno-integrated-cc1", "-O1"],
        ["-Oz", "-mllvm", "-enable-ipra", "-mllvm", "-disable-lsr"],
        ["-mllvm", "-no-such-option"],
        ["-no-such-option"],
        ["-DSOURCE", "-include", "/no/such/header.h"],
        ["-Dsum=length"],
        ["-###"],
        ["-v"],
    ],
    ids=" ".join,
)
def test_clang_makes_and_says_the_same(source, tmp_path, options, clang_on_large_pages):
    results = []
    output = tmp_path / "output.o"
    for run in (run_command, run_started):
        done = run([llvm_tools.clang_path(), *options, "-c", source, "-o", output], check=False)
        said = re.sub(r"source-\w+\.o", "", done.stderr)
        made = output.read_bytes() if output.exists() else None
        output.unlink(missing_ok=True)
        results.append((done.returncode, done.stdout, said, made))
    assert results[0] == results[1]


def test_crash_of_clang_is_reported(tmp_path):
    source = tmp_path / "crash.c"
    source.write_text("#pragma clang __debug crash\n")
    command = [
        llvm_tools.clang_path(),
        "-fno-crash-diagnostics",
        "-c",
        source,
        "-o",
        tmp_path / "o",
    ]
    ordinary, started = (run(command, check=False) for run in (run_command, run_started))
    assert started.returncode == ordinary.returncode != 0
    assert started.stderr.splitlines()[0] == ordinary.stderr.splitlines()[0]
