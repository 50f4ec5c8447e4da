"""Attacks of confined programs: each is refused, on systems with namespaces and without."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from compiler_gym.util import confinement, llvm_tools
from compiler_gym.util.commands import Popen
from compiler_gym.util.confinement import (
    MODE_VARIABLE,
    ConfinedRun,
    Limits,
    read_left_file,
    run_confined,
)

_LIMITS = Limits(
    seconds=5, memory_mib=256, processes=16, file_mib=4, disk_mib=16, files=64, cpu_seconds=2
)
_SECRET = f"secret-{uuid.uuid4()}"
_NOBODY = 54321


@dataclass(frozen=True)
class System:
    """A system by what it offers.

    Attributes:
        name: The name in the table.
        modes: The means that it does not have.
        is_root: Whether root confines the programs.
    """

    name: str
    modes: str
    is_root: bool


_SYSTEMS = [
    System("root, namespaces", "", True),
    System("root, no namespaces", "no-namespaces", True),
    System("user, namespaces", "", False),
    System("user, no namespaces", "no-namespaces", False),
]
_table: dict[str, dict[str, str]] = {}


class Target:
    """The surroundings that are attacked, and programs that everybody may run.

    Attributes:
        folder: The folder of all of it.
        secret: A file that all users can read.
        open_folder: A folder that all users can write to.
        neighbour: A program of the same user.
    """

    def __init__(self, folder: Path, user: int | None):
        self.folder = folder
        self.user = user
        folder.chmod(0o755)
        self.secret = folder / "secret"
        self.secret.write_text(_SECRET)
        self.open_folder = folder / "open"
        self.open_folder.mkdir()
        if user is not None:
            os.chown(self.secret, user, user)
        self.open_folder.chmod(0o777)
        self.neighbour = subprocess.Popen(
            ["/bin/sleep", "1000"], env={"SECRET": _SECRET}, **_as_user(user)
        )
        self.tcp = _listening(socket.AF_INET, ("127.0.0.1", 0))
        self.unix = _listening(socket.AF_UNIX, str(self.open_folder / "socket"))
        self.abstract = _listening(socket.AF_UNIX, "\0" + _SECRET)
        (self.open_folder / "socket").chmod(0o777)
        self.program = folder / "attacks"
        shutil.copy(Path(__file__).with_name("attacks"), self.program)
        self.confine = folder / "confine"
        shutil.copy(confinement.confining_program(), self.confine)

    @property
    def port(self) -> str:
        return str(self.tcp.getsockname()[1])

    @contextmanager
    def empty_folder(self) -> Iterator[Path]:
        path = Path(tempfile.mkdtemp(dir=self.folder))
        if self.user is not None:
            os.chown(path, self.user, self.user)
        yield path
        confinement.remove_left_folder(path)
        assert not path.exists()

    def close(self) -> None:
        self.neighbour.kill()
        self.neighbour.wait()
        for each in (self.tcp, self.unix, self.abstract):
            each.close()


def _listening(family: int, address: object) -> socket.socket:
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    return listener


def _as_user(user: int | None) -> dict[str, object]:
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


@pytest.fixture(scope="module", params=_SYSTEMS, ids=lambda system: system.name)
def target(request) -> Iterator[Target]:
    system: System = request.param
    if os.getuid() != 0 and system.is_root:
        pytest.skip("needs root")
    user = _NOBODY if os.getuid() == 0 and not system.is_root else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE_VARIABLE, system.modes)
        patch.setenv("SECRET", _SECRET)
        # Not in a folder of pytest, which other users cannot enter.
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            target = Target(Path(name), user)
            target.system = system
            patch.setattr(confinement, "confining_program", lambda: target.confine)
            patch.setattr(confinement, "empty_folder", target.empty_folder)
            patch.setattr(
                confinement, "Popen", lambda cmd, **rest: Popen(cmd, **rest, **_as_user(user))
            )
            confinement._protections.cache_clear()
            try:
                found = confinement.protections()
                if not system.modes and not found.namespaces:
                    pytest.skip(f"no namespaces: {found.refused}")
                yield target
            finally:
                target.close()
                confinement._protections.cache_clear()


@pytest.fixture
def folder(target: Target) -> Iterator[Path]:
    with target.empty_folder() as path:
        yield path


_WORDS: dict[str, Callable[[Target], str]] = {
    "read": lambda target: str(target.secret),
    "write": lambda target: str(target.open_folder / "written"),
    "chmod": lambda target: str(target.secret),
    "link": lambda target: str(target.secret),
    "kill": lambda target: str(target.neighbour.pid),
    "ptrace": lambda target: str(target.neighbour.pid),
    "read-memory": lambda target: str(target.neighbour.pid),
    "tcp": lambda target: target.port,
    "udp": lambda target: target.port,
    "unix": lambda target: str(target.open_folder / "socket"),
    "abstract": lambda target: _SECRET,
    "environment": lambda target: "SECRET",
    "processes": lambda target: _SECRET[::-1],
    "kill-parent": lambda target: "",
    "park-memory": lambda target: "",
    "device": lambda target: "",
    "root": lambda target: "",
    "mount": lambda target: "",
    "namespaces": lambda target: "",
    "terminal": lambda target: "",
    "files": lambda target: str(_LIMITS.files),
}


def _once(target: Target) -> None:
    """Skips what takes long on systems on which it is the same."""
    if os.getuid() == 0 and not target.system.is_root:
        pytest.skip("the same as for root")


def _note(attack: str, target: Target, by: str) -> None:
    _table.setdefault(attack, {})[target.system.name] = by


def _attack(target: Target, folder: Path, name: str, word: str = "", **changes) -> ConfinedRun:
    limits = Limits(**{**vars(_LIMITS), **changes})
    return run_confined([target.program, name, word], limits, folder=folder)


@pytest.mark.parametrize("name", _WORDS)
def test_attacks_are_refused(target: Target, folder: Path, name: str):
    done = _attack(target, folder, name, _WORDS[name](target))
    assert done.returncode == 1, done
    assert target.neighbour.poll() is None
    assert not (target.open_folder / "written").exists()
    assert target.secret.stat().st_mode & 0o777 == 0o644
    _note(name, target, done.stdout.decode().strip())


@pytest.mark.parametrize(
    ("name", "word", "limit"),
    [
        ("sleep", "", "time"),
        ("spin", "", "cpu"),
        ("memory", "1000", "memory"),
        ("memory-of-many", "100", "memory"),
        ("big-file", "5", "file"),
        ("fill", "20", "disk"),
        ("fill-nameless", "20", "disk"),
        ("nest", "", "disk"),
    ],
)
def test_limits(target: Target, folder: Path, name: str, word: str, limit: str):
    if name in ("spin", "fill-nameless", "memory-of-many"):
        _once(target)
    done = _attack(
        target, folder, name, word, seconds=0.2 if limit == "time" else 10, cpu_seconds=1
    )
    assert (done.limit, bool(done.reason)) == (limit, True), done
    assert done.returncode < 0
    _note(name, target, f"limit: {limit}")


def test_fork_bombs(target: Target, folder: Path):
    done = _attack(target, folder, "bomb", str(_LIMITS.processes))
    # The kernel does not limit the processes of root.
    assert done.returncode == 1 or done.limit == "processes", done
    _note("bomb", target, done.stdout.decode().strip() or f"limit: {done.limit}")


def test_files_outside_of_the_folder_are_limited(target: Target, folder: Path):
    done = _attack(target, folder, "fill-shared", "20")
    assert done.returncode == 1
    _note("fill-shared", target, done.stdout.decode().strip())


def test_daemons_end_with_the_program(target: Target, folder: Path):
    marker = f"marker-{uuid.uuid4()}"
    begin = time.monotonic()
    assert _attack(target, folder, "daemon", marker).returncode == 0
    assert time.monotonic() - begin < 5
    assert not _processes_with(marker)
    _note("daemon", target, "killed")


def _processes_with(marker: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue  # It has ended.
    return found


def test_no_core_dump(target: Target, folder: Path):
    done = _attack(target, folder, "core")
    assert done.returncode == -6
    assert list(folder.iterdir()) == []
    _note("core", target, "no file")


def test_links_are_not_followed(target: Target, folder: Path):
    assert _attack(target, folder, "symlink", str(target.secret)).returncode == 0
    assert (folder / "answer").read_text() == _SECRET
    assert read_left_file(folder, "answer") is None
    _note("symlink", target, "not followed")


def test_allowed_work(target: Target, folder: Path):
    """A program reads its input and a file that it may read, starts others, and writes files."""
    script = 'cat; cat "$0"; echo more >file; printf "%s" "$PWD" >&2; exit 3'
    done = run_confined(
        ["/bin/sh", "-c", script, target.secret],
        folder=folder,
        # Commands also name such files, which are others in each process.
        readable=[target.secret, Path("/dev/stdout"), Path("/dev/null")],
        stdin=b"input ",
    )
    assert (done.returncode, done.stdout.decode()) == (3, f"input {_SECRET}")
    assert (done.stderr.decode(), done.limit) == (str(folder), "")
    assert read_left_file(folder, "file") == b"more\n"


_TEMPLATES = """\
template <class T, T... numbers> struct List {};
List<int> list = __make_integer_seq<List, int, 100000000>();
"""
# Expanded as an argument, so that clang holds all of it at once.
_MACROS = "#define A0 x+x+x+x+x+x+x+x+\n#define KEPT(...) __VA_ARGS__\n" + "".join(
    f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1} A{i - 1} A{i - 1} A{i - 1} A{i - 1}\n"
    for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("name", "source"), [("templates", _TEMPLATES), ("macros", f"{_MACROS} int x, y = KEPT(A9) x;")]
)
def test_compilers_are_limited(target: Target, folder: Path, name: str, source: str):
    _once(target)
    clang = llvm_tools.clang_path()
    done = run_confined(
        [clang, "-x", "c++", "-", "-c", "-o", "out.o"],
        Limits(seconds=10, memory_mib=120),
        folder=folder,
        readable=[clang.resolve().parents[1]],
        stdin=source.encode(),
    )
    assert done.limit == "memory", done
    _note(name, target, "limit: memory")


@pytest.mark.parametrize("flags", [(), ("--no_namespaces",)])
def test_root_without_rights(tmp_path, flags):
    """In some containers, root has no rights to change its user."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", confinement.confining_program()]
    script = "echo done; cat /etc/shadow 2>/dev/null && echo read"
    command = [*words, f"--folder={tmp_path}", *flags, "--", "/bin/sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_missing_programs(target: Target, folder: Path):
    with pytest.raises(FileNotFoundError):
        run_confined(["/bin/no-such-program"], folder=folder)
    with pytest.raises(FileNotFoundError):
        run_confined(["/bin/true"], folder=folder / "gone")


def test_table():
    """Prints what refused each attack; docs/security.md has the table."""
    names = [each.name for each in _SYSTEMS]
    rows = [
        f"| {attack} | {' | '.join(found.get(name, '') for name in names)} |"
        for attack, found in _table.items()
    ]
    print(
        "\n".join([f"| attack | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|", *rows])
    )
