"""Runs of a GCC of this machine or of a Docker image, and a cache of their results."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported, ServiceError, ServiceOSError
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.filesystem import atomic_file_write

DOCKER_PREFIX = "docker:"
"""What the name of a GCC begins with that is in an image of Docker: ``docker:gcc:13``."""

#: The compiler that ``gcc-v0`` uses by default: the ``gcc`` in ``PATH``.
DEFAULT_GCC = "gcc"

_MEMORY_BYTES = 4 * 2**30
_QUESTION_SECONDS = 60
_PULL_SECONDS = 1800

# One program for the limit and for GCC, so that the one that is killed is GCC.
_WITH_LESS_MEMORY = ("/bin/sh", "-c", f'ulimit -v {_MEMORY_BYTES // 1024}; exec "$0" "$@"')


class Gcc:
    """A GCC that can be run.

    Args:
        bin: A name in ``PATH``, a path, or ``docker:`` and the name of an image.

    Attributes:
        bin: An absolute path, or ``docker:`` and the name of an image.
        version: The first line of ``gcc --version``.

    Raises:
        EnvironmentNotSupported: If it is not there, cannot be run or is not a GCC.
    """

    def __init__(self, bin: str | Path = DEFAULT_GCC):
        name = str(bin)
        self._image = name.removeprefix(DOCKER_PREFIX) if name.startswith(DOCKER_PREFIX) else None
        self._docker = _docker_path(self._image) if self._image is not None else None
        self.bin = name if self._image is not None else str(_path_of(name))
        self.version = self._ask_version()

    @cached_property
    def identity(self) -> str:
        """A key that changes when the compiler is replaced: version, path and modification time."""
        if self._image is not None:
            command = [self._docker, "image", "inspect", "--format={{.Id}}", self._image]
            text = run_command(command, timeout=_QUESTION_SECONDS).stdout  # type: ignore[arg-type]
            return f"{self.version}\n{text.strip()}"
        status = Path(self.bin).resolve().stat()
        return f"{self.version}\n{self.bin}\n{status.st_mtime_ns} {status.st_size}"

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        timeout: float | None = None,
        readable: Sequence[Path] = (),
    ) -> str:
        """Runs it.

        Messages are in English. It may use 4 GiB of memory, and its clock says 1970.

        Args:
            arguments: The arguments of the command line.
            folder: The working directory, where it may write files.
            timeout: The time limit in seconds, after which it is killed with its child processes.
                None for no limit.
            readable: Other folders with files that it reads, for Docker.

        Returns:
            The standard output.

        Raises:
            CommandError: If it fails.
            subprocess.TimeoutExpired: If the time is over.
            FileNotFoundError: If it is not there any more.
        """
        settings = {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
        if self._image is None:
            if not os.access(self.bin, os.X_OK):
                raise FileNotFoundError(f"{self.bin} is not there any more")
            command = [*_WITH_LESS_MEMORY, self.bin, *arguments]
            env = {**os.environ, **settings}
            done = run_command(command, timeout, cwd=folder, env=env)
            return done.stdout
        return self._run_in_container(arguments, folder, timeout, settings, readable)

    def _run_in_container(
        self,
        arguments: Sequence[str],
        folder: Path,
        timeout: float | None,
        settings: dict[str, str],
        readable: Sequence[Path],
    ) -> str:
        docker, image = str(self._docker), str(self._image)
        name = f"compiler_gym-{uuid.uuid4().hex}"
        command = [docker, "run", "--rm", "--init", "--network=none", f"--name={name}"]
        command += [f"--memory={_MEMORY_BYTES}", f"--user={os.getuid()}:{os.getgid()}"]
        command += [f"--env={key}={value}" for key, value in settings.items()]
        command += [f"--volume={path}:{path}:ro" for path in readable]
        command += [f"--volume={folder}:{folder}", f"--workdir={folder}", image, "gcc"]
        try:
            return run_command([*command, *arguments], timeout).stdout
        except subprocess.TimeoutExpired:
            # Killed was the program that waits for the container.
            with suppress(OSError, subprocess.SubprocessError):
                run_command([docker, "kill", name], _QUESTION_SECONDS, check=False)
            raise

    def _ask_version(self) -> str:
        if self._image is not None:
            self._pull()
        try:
            with tempfile.TemporaryDirectory(prefix="compiler_gym-gcc-") as folder:
                text = self.run(["--version"], Path(folder), _QUESTION_SECONDS)
        except (CommandError, subprocess.TimeoutExpired, OSError) as error:
            raise EnvironmentNotSupported(
                f"{self.bin} --version does not work, so it is not a GCC: {error}"
            ) from error
        if "Free Software Foundation" not in text:
            raise EnvironmentNotSupported(
                f"{self.bin} is not a GCC; its --version says: {text.partition(chr(10))[0]!r}. "
                "Choose another with GccEnv(gcc_bin=...) or the environment variable CC"
            )
        return text.partition("\n")[0].strip()

    def _pull(self) -> None:
        """Gets the image unless it is there."""
        docker, image = str(self._docker), str(self._image)
        try:
            found = run_command([docker, "image", "inspect", image], _QUESTION_SECONDS, check=False)
            if found.returncode:
                run_command([docker, "pull", image], timeout=_PULL_SECONDS)
        except (CommandError, subprocess.TimeoutExpired, OSError) as error:
            raise EnvironmentNotSupported(
                f"Docker has no image '{image}', and cannot get it: {error}\nIs the daemon of "
                "Docker running, may you use it, and is the name right? Without Docker, take a GCC "
                "of this machine: GccEnv(gcc_bin='gcc')"
            ) from error

    def __repr__(self) -> str:
        return f"Gcc({self.bin!r})"


def get_gcc(bin: str | Path | None = None) -> Gcc:
    """Returns a GCC.

    Args:
        bin: Same as in :class:`Gcc`. By default the environment variable ``CC``, or else ``gcc``.

    Raises:
        EnvironmentNotSupported: If it is not there, cannot be run or is not a GCC. The text says
            what to do.
    """
    return Gcc(bin or os.environ.get("CC") or DEFAULT_GCC)


def _path_of(name: str) -> Path:
    path = shutil.which(os.path.expanduser(name))
    if path is not None:
        return Path(path).absolute()
    reason = "cannot be executed" if os.path.isfile(os.path.expanduser(name)) else "is not there"
    raise EnvironmentNotSupported(
        f"The compiler {name!r} {reason}. Install GCC, on Debian and Ubuntu with 'apt-get install "
        "gcc', or choose one with GccEnv(gcc_bin=...) or the environment variable CC: a name in "
        "PATH, a path, or docker:IMAGE"
    )


def _docker_path(image: str | None) -> str:
    if not image:
        raise EnvironmentNotSupported(
            "There is no name of an image behind 'docker:'. Write it as docker:gcc:13"
        )
    path = shutil.which("docker")
    if path is None:
        raise EnvironmentNotSupported(
            f"The program 'docker' is not there, which docker:{image} needs. Install it, or take a "
            "GCC of this machine: GccEnv(gcc_bin='gcc')"
        )
    return path


# Errors that are no bugs of the service, so that no traceback goes with them.


class Refused(ServiceError, ValueError):  # noqa: N818
    """A request for something that does not exist. Clients see a ``ValueError``."""


class TookTooLong(ServiceError, TimeoutError):  # noqa: N818
    """The compiler was killed. Clients see a ``TimeoutError``."""


ASSEMBLY = "asm"
OBJECT = "obj"
RTL = "rtl"

# What the compiler is to do, and the file that then has the result.
_KINDS = {
    ASSEMBLY: (("-S",), "program.s"),
    OBJECT: (("-c",), "program.o"),
    # Addresses in memory would differ from run to run.
    RTL: (("-S", "-fdump-rtl-final=program.rtl", "-fdump-noaddr"), "program.rtl"),
}

# Warnings are not looked at.
_COMMON = ("-w",)

# How a program begins that the preprocessor has dealt with.
_LINE_MARKER = re.compile(rb'# \d+ "')

_MAX_MESSAGE = 2000
_OK, _FAILED = b"+", b"-"

# What is kept on disk for all sessions of a service. That is looked at after each 256th result, by
# their names, as sessions know nothing of each other.
_MAX_KEPT_BYTES = 256 * 2**20
_CHECKED_NAME = "00"


class Compilations:
    """The compilations of a program, cached by options.

    Each result is kept by what it is made of, for all sessions that share the folder, until they
    take 256 MiB. So is what the compiler finds wrong, but not that it crashed or took too long.

    Args:
        gcc: The compiler.
        source: The program in C, before or after the preprocessor.
        folder: Where results are kept, and temporary files are.
    """

    def __init__(self, gcc: Gcc, source: bytes, folder: Path):
        self._gcc = gcc
        self._source = source
        self._folder = folder
        self._kept = folder / "compiled"
        self._name = "program.i" if _LINE_MARKER.match(source) else "program.c"
        self._digest = hashlib.sha256(source).digest()

    def arguments(self, kind: str, options: Sequence[str]) -> list[str]:
        """Returns the arguments with which the compiler is run."""
        what, output = _KINDS[kind]
        name = "program.s" if kind == RTL else output
        return [*options, *_COMMON, *what, self._name, "-o", name]

    def check(self, timeout: float | None) -> None:
        """Checks that the program is one.

        Raises:
            Refused: If it is not valid C.
            ServiceError: If the compiler is lost.
            TookTooLong: If the time is over.
        """
        with self._folder_with_source() as name:
            try:
                self._run(["-fsyntax-only", *_COMMON, self._name], Path(name), timeout)
            except CommandError as error:
                raise Refused(f"The program is not valid C: {_text_of(error)}") from None

    def compile(self, kind: str, options: Sequence[str], timeout: float | None) -> bytes:
        """Returns the output of the compiler for the program.

        Args:
            kind: :data:`ASSEMBLY`, :data:`OBJECT` or :data:`RTL`.
            options: The options.
            timeout: Seconds after which the compiler is killed. None for no limit.

        Raises:
            ServiceError: If the compiler refuses the options, or crashes.
            TookTooLong: If the time is over.
            ServiceOSError: If there is no space on the disk.
        """
        arguments = self.arguments(kind, options)
        path = self._kept / self._key(arguments)
        with suppress(OSError):
            kept = path.read_bytes()
            if kept[:1] == _FAILED:
                raise ServiceError(kept[1:].decode())
            return kept[1:]
        try:
            with self._folder_with_source() as name:
                result = self._result(kind, arguments, Path(name), timeout)
            self._keep(path, _OK + result)
        except CommandError as error:
            text = f"GCC cannot compile the program with these options. {_text_of(error)}"
            if _is_diagnosis(error):
                self._keep(path, _FAILED + text.encode())
            raise ServiceError(text) from None
        except OSError as error:
            if isinstance(error, ServiceError):
                raise
            raise ServiceOSError(f"Cannot compile: {error}") from error
        return result

    def _result(
        self, kind: str, arguments: list[str], folder: Path, timeout: float | None
    ) -> bytes:
        self._run(arguments, folder, timeout)
        return (folder / _KINDS[kind][1]).read_bytes()

    def _run(self, arguments: list[str], folder: Path, timeout: float | None) -> None:
        try:
            self._gcc.run(arguments, folder, timeout)
        except subprocess.TimeoutExpired:
            raise TookTooLong(
                f"GCC took more than {timeout:g} s and was killed. GccEnv(timeout=...) sets the "
                f"limit. Its options: {' '.join(arguments)[:_MAX_MESSAGE]}"
            ) from None
        except FileNotFoundError as error:
            raise ServiceError(f"The compiler is lost: {error}") from error

    def _folder_with_source(self) -> "tempfile.TemporaryDirectory[str]":
        place = tempfile.TemporaryDirectory(prefix="compile-", dir=self._folder)
        Path(place.name, self._name).write_bytes(self._source)
        return place

    def _key(self, arguments: list[str]) -> str:
        return hashlib.sha256("\0".join(arguments).encode() + b"\0" + self._digest).hexdigest()

    def _keep(self, path: Path, data: bytes) -> None:
        """Keeps a result if there is space for it. Others see all of it or nothing."""
        with suppress(OSError):
            self._kept.mkdir(exist_ok=True)
            with atomic_file_write(path, fileobj=True) as file:
                file.write(data)
            if path.name.startswith(_CHECKED_NAME):
                forget_oldest(self._kept, _MAX_KEPT_BYTES)


def forget_oldest(folder: Path, max_bytes: int) -> None:
    """Removes the oldest files of a folder until it has half of its maximum size.

    Does nothing if all together are within the limit. Others may do the same at that time.
    """
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat()
                files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= max_bytes:
        return
    for _, size, path in sorted(files):
        if total <= max_bytes // 2:
            break
        with suppress(FileNotFoundError):
            os.unlink(path)
        total -= size


def _is_diagnosis(error: CommandError) -> bool:
    """Returns true if the compiler reported an error; false if it crashed or was killed."""
    text = str(error.stderr)
    lost = "Killed" in text or "internal compiler error" in text
    return error.returncode == 1 and "error:" in text and not lost


def _text_of(error: CommandError) -> str:
    """Returns the beginning of the compiler's output, or how it ended if the output is empty."""
    text = str(error.stderr or "").strip() or str(error)
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} [...]"
