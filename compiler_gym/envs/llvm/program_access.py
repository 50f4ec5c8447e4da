"""Access to the current program of LLVM environments: reading, writing to files, showing."""

import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from compiler_gym.envs.llvm.benchmarks.dynamic_config import build_executable, build_object
from compiler_gym.envs.llvm.display import RENDER_MODES, diff_of_step, summary_of
from compiler_gym.envs.llvm.inst2vec import Inst2vecEncoder, default_encoder
from compiler_gym.service.program_env import ProgramEnv


class ProgramAccess(ProgramEnv):
    """An environment whose program can be written to files of LLVM, shown and compared.

    The base class of :class:`LlvmEnv`, which chooses programs and changes them.
    """

    _parameter_prefix = "llvm"

    metadata: ClassVar[dict[str, Any]] = {
        "render.modes": [*RENDER_MODES],
        "render_modes": [*RENDER_MODES],
    }

    @property
    def ir_sha1(self) -> str:
        """A hash of the program, 40 hexadecimal digits: the SHA-1 of its bitcode."""
        return self.observation["IrSha1"]

    @property
    def inst2vec(self) -> Inst2vecEncoder:
        """The encoder of ``Inst2vec`` observations, which also works without an environment."""
        return default_encoder()

    def write_bitcode(self, path: str | Path) -> Path:
        """Writes the program to a file as bitcode: the very bytes that ``opt`` would write.

        Right after a reset these differ from the bytes of the benchmark, because the service takes
        names and debug information out of every program.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        temporary = self._own_bitcode_file()
        if temporary is None:
            path.write_bytes(self.observation["Bitcode"].tobytes())
            return path
        try:
            shutil.copyfile(temporary, path)
        finally:
            temporary.unlink()
        return path

    def _own_bitcode_file(self) -> Path | None:
        """Returns a new file of the service with the program, which the caller removes.

        Only a service that this process has started may name files of this machine, and only in its
        own folder. None for other services.
        """
        connection = self.service
        if connection is None or connection.service is None:
            return None
        path = Path(self.observation["BitcodeFile"])
        # The file itself must not be a link, and its folder must be that of the service.
        folder = connection.service.working_dir.resolve()
        is_own = path.parent.resolve().is_relative_to(folder)
        return path if is_own and path.is_file() and not path.is_symlink() else None

    def write_input(self, path: str | Path) -> Path:
        """Writes the unoptimised program, from which :meth:`commandline` starts, as bitcode.

        Begins another episode on it.

        Returns:
            The path.

        Raises:
            Exception: Any error of :meth:`reset` and :meth:`write_bitcode`.
        """
        self.reset(benchmark=self.benchmark)
        return self.write_bitcode(path)

    def write_object(self, path: str | Path, for_size: bool = True) -> Path:
        """Writes the object file that LLVM makes from the current program.

        Args:
            path: The file.
            for_size: Whether all functions are compiled for size, as ``ObjectTextSizeBytes`` is
                measured: it is the text size of this file. Otherwise each is compiled as its
                attributes say, at the level of ``-O2``.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            BenchmarkInitError: If LLVM cannot compile it. The text says why.
            EnvironmentNotSupported: If the LLVM tools are not installed on this machine.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            build_object(self.write_bitcode(Path(folder, "program.bc")), path, for_size)
        return path

    def write_executable(self, path: str | Path) -> Path:
        """Writes the executable of the current program, by the benchmark's build command.

        A benchmark without one is linked with the libraries of C and C++. Functions are compiled as
        their attributes say.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            BenchmarkInitError: If it cannot be built, e.g. because it has no ``main``.
            EnvironmentNotSupported: If clang is not installed on this machine.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            bitcode = self.write_bitcode(Path(folder, "program.bc"))
            build_executable(bitcode, path, self._require_episode().benchmark.proto.dynamic_config)
        return path

    @override
    def render(self, mode: str = "human") -> str | None:
        """Shows the program.

        Args:
            mode: ``"human"`` prints the textual IR; ``"summary"`` prints what it costs beside -O0
                and -Oz, and what was done; ``"diff"`` prints what the last step has changed in
                the IR. ``"ansi"`` returns the default observation as text, the textual IR if
                there is none.

        Raises:
            ValueError: If the mode is another.
            SessionNotFound: If there is no episode.
        """
        if mode == "summary":
            print("\n".join(summary_of(self)))
            return None
        if mode == "diff":
            counts = self._require_episode().counts
            print("\n".join(diff_of_step(self, counts[-1] if counts else 0)))
            return None
        return super().render(mode)

    def explore(self, height: int = 720) -> Any:
        """Shows the program and the actions so far in the explorer's page.

        In a notebook the page is shown in the cell; elsewhere a browser opens it. Passes that are
        applied there do not change this environment.

        Args:
            height: The height of the page in a cell, in pixels.

        Returns:
            An :class:`compiler_gym.explorer.notebook.Exploration`, whose ``url`` is the address of
            the page.

        Raises:
            SessionNotFound: If there is no episode.
            ValueError: If the explorer's passes cannot repeat the state.
            ImportError: If the packages of ``compiler_gym[explorer]`` are not installed.
        """
        # The explorer is made of environments, so that they cannot import it.
        return import_module("compiler_gym.explorer.notebook").explore(self, height)
