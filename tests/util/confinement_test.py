"""Attacks of confined programs: each is refused, on systems with namespaces and without."""

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
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
    seconds=60, memory_mib=256, processes=16, file_mib=4, disk_mib=16, files=64, cpu_seconds=1
)
_JOBS = 6
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
        input: A file that all users can write to.
        open_folder: A folder that all users can write to.
        neighbour: A program of the same user.
    """

    def __init__(self, folder: Path, user: int | None):
        self.folder = folder
        self.user = user
        folder.chmod(0o755)
        self.secret = folder / "secret"
        self.secret.write_text(_SECRET)
        self.input = folder / "input"
        self.input.write_text("input")
        self.input.chmod(0o666)
        self.open_folder = folder / "open"
        self.open_folder.mkdir()
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
        if user is not None:
            for path in (self.secret, self.program):
                os.chown(path, user, user)
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


_REFUSED: dict[str, Callable[[Target], str]] = {
    "read": lambda target: str(target.secret),
    "write": lambda target: str(target.open_folder / "written"),
    "write-input": lambda target: "",
    "write-setting": lambda target: "/proc/sys/kernel/core_pattern",
    "chmod": lambda target: str(target.secret),
    # A program may read itself.
    "chmod-open": lambda target: str(target.program),
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
    "fill-shared": lambda target: "20",
}


# The word of the command line, and the limit that ends the attack.
_LIMITED = {
    "sleep": ("", "time"),
    "spin": ("", "cpu"),
    "memory": ("1000", "memory"),
    "memory-of-many": ("100", "memory"),
    "big-file": ("5", "file"),
    "fill": ("20", "disk"),
    "fill-nameless": ("20", "disk"),
    "fill-hidden": ("20", "disk"),
    "fill-secretly": ("20", "disk"),
    "nest": ("", "disk"),
}

_OTHERS: dict[str, Callable[[Target], str]] = {
    "bomb": lambda target: str(_LIMITS.processes),
    "daemon": lambda target: _MARKER,
    "core": lambda target: "",
    "symlink": lambda target: str(target.secret),
}
_MARKER = f"marker-{uuid.uuid4()}"

# Without namespaces, the limit of processes counts all of the user.
_ALONE = ("bomb", "memory-of-many", "daemon")
# They take long, and are the same for each user.
_ONCE = ("spin", "fill-nameless", "memory-of-many", "templates", "macros")


class Runs:
    """The attacks on a system. They run side by side.

    Attributes:
        folders: The folder of each.
    """

    def __init__(self, target: Target, stack: ExitStack):
        words = {name: word(target) for name, word in {**_REFUSED, **_OTHERS}.items()}
        words |= {name: word for name, (word, _) in _LIMITED.items()}
        words |= dict.fromkeys(_SOURCES, "")
        if _is_repetition(target):
            words = {name: word for name, word in words.items() if name not in _ONCE}
        self.folders = {name: stack.enter_context(target.empty_folder()) for name in words}
        executor = stack.enter_context(ThreadPoolExecutor(_JOBS))
        self._runs: dict[str, Future[ConfinedRun]] = {}
        for name in sorted(words, key=lambda name: name not in _ALONE):
            start = _compile if name in _SOURCES else _attack
            run = executor.submit(start, target, self.folders[name], name, words[name])
            if name in _ALONE:
                run.exception()
            self._runs[name] = run

    def __getitem__(self, name: str) -> ConfinedRun:
        if name not in self._runs:
            pytest.skip("the same as for root")
        return self._runs[name].result()


def _is_repetition(target: Target) -> bool:
    return os.getuid() == 0 and not target.system.is_root


def _attack(target: Target, folder: Path, name: str, word: str) -> ConfinedRun:
    limits = replace(_LIMITS, seconds=0.2) if name == "sleep" else _LIMITS
    with target.input.open("rb") as stdin:
        return run_confined([target.program, name, word], limits, folder=folder, stdin=stdin)


@pytest.fixture(scope="module")
def runs(target: Target) -> Iterator[Runs]:
    with ExitStack() as stack:
        yield Runs(target, stack)


def _note(attack: str, target: Target, by: str) -> None:
    _table.setdefault(attack, {})[target.system.name] = by


@pytest.mark.parametrize("name", _REFUSED)
def test_attacks_are_refused(target: Target, runs: Runs, name: str):
    done = runs[name]
    assert done.returncode == 1, done
    assert target.neighbour.poll() is None
    assert not (target.open_folder / "written").exists()
    assert target.secret.stat().st_mode & 0o777 == 0o644
    assert target.input.read_text() == "input"
    _note(name, target, done.stdout.decode().strip())


@pytest.mark.parametrize("name", _LIMITED)
def test_limits(target: Target, runs: Runs, name: str):
    done = runs[name]
    _, limit = _LIMITED[name]
    assert (done.limit, bool(done.reason)) == (limit, True), done
    assert done.returncode < 0
    _note(name, target, f"limit: {limit}")


def test_fork_bombs(target: Target, runs: Runs):
    done = runs["bomb"]
    # The kernel does not limit the processes of root.
    assert done.returncode == 1 or done.limit == "processes", done
    _note("bomb", target, done.stdout.decode().strip() or f"limit: {done.limit}")


def test_daemons_end_with_the_program(target: Target, runs: Runs):
    assert runs["daemon"].returncode == 0
    assert not _processes_with(_MARKER)
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


def test_no_core_dump(target: Target, runs: Runs):
    assert runs["core"].returncode == -6
    assert list(runs.folders["core"].iterdir()) == []
    _note("core", target, "no file")


def test_links_are_not_followed(target: Target, runs: Runs):
    assert runs["symlink"].returncode == 0
    folder = runs.folders["symlink"]
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


_SOURCES = {"templates": _TEMPLATES, "macros": f"{_MACROS} int x, y = KEPT(A9) x;"}


def _compile(target: Target, folder: Path, name: str, _: str) -> ConfinedRun:
    clang = llvm_tools.clang_path()
    return run_confined(
        [clang, "-x", "c++", "-", "-c", "-o", "out.o"],
        Limits(seconds=20, memory_mib=120),
        folder=folder,
        readable=[clang.resolve().parents[1]],
        stdin=_SOURCES[name].encode(),
    )


@pytest.mark.parametrize("name", _SOURCES)
def test_compilers_are_limited(target: Target, runs: Runs, name: str):
    done = runs[name]
    assert done.limit == "memory", done
    _note(name, target, "limit: memory")


_WIDE = ("/", "/tmp", "/etc", "/var", "/root", "/home", "/dev", "/proc", "/dev/shm")


def test_too_wide_folders_are_not_shown(target: Target, folder: Path):
    shown = target.folder / "shown"
    shown.mkdir()
    (shown / "file").write_text("shown\n")
    (target.folder / "link").symlink_to("shown", target_is_directory=True)
    absolute = target.folder / "absolute"
    absolute.symlink_to(shown / "file")
    wide = target.folder / "wide"
    wide.symlink_to("/tmp", target_is_directory=True)
    named = [target.folder / "link", absolute, wide, Path("/etc/passwd")]
    # A program could leave such a link between two runs.
    (folder / "planted").symlink_to(target.secret)
    script = 'for each; do head -n 1 "$each" || echo refused; done'
    seen = [f"{named[0]}/file", shown / "file", absolute, "/etc/passwd"]
    unseen = [target.secret, f"{wide}/{target.folder.name}/secret", "planted", "/etc/group"]
    done = run_confined(
        ["/bin/sh", "-c", script, "sh", *seen, *unseen],
        folder=folder,
        readable=[*map(Path, _WIDE), *named, folder / "planted", *[target.folder / "gone"] * 200],
    )
    assert done.stdout.decode().split("\n")[:3] == ["shown"] * 3
    assert done.stdout.decode().split("\n")[4:] == [*["refused"] * 4, ""]
    assert done.stdout.decode().split("\n")[3].startswith("root:")


def test_programs_touch_their_files(target: Target, folder: Path):
    done = run_confined(["/bin/sh", "-c", "touch a && touch a b && ls"], folder=folder)
    assert (done.returncode, done.stdout) == (0, b"a\nb\n")


def test_standard_files_have_names(target: Target, folder: Path):
    """Programs open them by their names, as another user than that of the caller, too."""
    secret = target.folder / "closed"
    secret.write_text("input ")
    secret.chmod(0o600)
    command = "cat /dev/stdin >>/dev/stdout; echo one >>/dev/stderr; echo two >>/dev/fd/2"
    with secret.open("rb") as source, (target.folder / "printed").open("w+b") as sink:
        sink.write(b"before ")
        done = run_confined(["/bin/sh", "-c", command], folder=folder, stdin=source, stdout=sink)
        sink.seek(0)
        assert sink.read() == b"before input "
    assert (done.returncode, done.stderr) == (0, b"one\ntwo\n")
    if target.user is not None:
        return  # The pipes would be those of root.
    # Callers in other languages give pipes.
    words = [target.confine, f"--folder={folder}", *_flags(target), "--", "/bin/sh", "-c", command]
    piped = subprocess.run(words, capture_output=True, input=b"input")
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, b"input", b"one\ntwo\n")


def _flags(target: Target) -> list[str]:
    return [f"--{each.replace('-', '_')}" for each in target.system.modes.split()]


@pytest.mark.parametrize("flags", [(), ("--no_namespaces",)])
def test_root_without_rights(tmp_path, flags):
    """In some containers, root has no rights to change its user."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", confinement.confining_program()]
    script = (
        "echo done; cat /etc/shadow 2>/dev/null && echo read; "
        "(: >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo written"
    )
    command = [*words, f"--folder={tmp_path}", *flags, "--", "/bin/sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_folders_that_other_users_cannot_reach(target: Target, tmp_path: Path):
    """Root has such folders for the sessions of services."""
    if not target.system.is_root:
        pytest.skip("needs root")
    folder = tmp_path / "closed" / "folder"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    done = run_confined(["/bin/sh", "-c", f"echo word >{folder}/file"], folder=folder)
    assert done.returncode == 0, done
    assert read_left_file(folder, "file") == b"word\n"


def test_missing_means_are_named(tmp_path: Path):
    if os.getuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path / "closed" / "folder"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    words = ["/bin/sh", "-c", 'exec "$0" "$@" 3>&1', confinement.confining_program(), "--report=3"]
    flags = ["--no_namespaces", "--no_landlock", f"--folder={folder}"]
    done = subprocess.run([*words, *flags, "--", "/bin/true"], capture_output=True, text=True)
    assert done.returncode == 127
    assert "error 13 reach the working directory" in done.stdout
    assert "without namespaces and Landlock" in done.stdout


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
