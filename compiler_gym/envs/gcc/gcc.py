"""Runs a GCC of this machine, or of a Docker image."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.commands import CommandError, run_command

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
