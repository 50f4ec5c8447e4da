"""Environments of programs that have a textual form and can be run."""

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from compiler_gym.errors import SessionNotFound
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv


class ProgramEnv(ClientServiceCompilerEnv):
    """An environment whose program can be read, written to a file, shown and measured.

    Its service has the observations ``Ir``, the textual form of the program, and ``Runtime``.
    """

    _parameter_prefix: ClassVar[str]
    """The first part of the names of the service's session parameters, e.g. ``"llvm"``."""

    _runtime_observation_count = 1
    _runtime_warmup_runs_count = 0

    @property
    def ir(self) -> str:
        """The current program in its textual form."""
        return self.observation["Ir"]

    def write_ir(self, path: str | Path) -> Path:
        """Writes the current program to a file in its textual form.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        path.write_text(self.ir, encoding="utf-8")
        return path

    @override
    def render(self, mode: str = "human") -> str | None:
        """Shows the program.

        Args:
            mode: ``"human"`` prints its textual form. ``"ansi"`` returns the default observation as
                text, the textual form if there is none.

        Raises:
            ValueError: If the mode is another.
            SessionNotFound: If there is no episode.
        """
        if mode == "human":
            print(self.ir)
            return None
        if mode == "ansi" and self.observation_space_spec is None:
            return self.ir
        return super().render(mode)

    @property
    def runtime_observation_count(self) -> int:
        """The number of measured runs for a ``Runtime`` observation; 1 by default.

        Can be set at any time, holds for all further episodes, and is inherited by forks.

        Raises:
            ValueError: If set to less than 1.
        """
        return self._runtime_observation_count

    @runtime_observation_count.setter
    def runtime_observation_count(self, count: int) -> None:
        self._set_count("runtimes_per_observation_count", count, minimum=1)
        self._runtime_observation_count = count

    @property
    def runtime_warmup_runs_count(self) -> int:
        """The number of warm-up runs for a ``Runtime`` observation.

        By default 0 for LLVM, and 1 for MLIR besides the run that is checked. Can be set at any
        time, holds for all further episodes, and is inherited by forks.

        Raises:
            ValueError: If set to less than 0.
        """
        return self._runtime_warmup_runs_count

    @runtime_warmup_runs_count.setter
    def runtime_warmup_runs_count(self, count: int) -> None:
        self._set_count("warmup_runs_count_per_runtime_observation", count, minimum=0)
        self._runtime_warmup_runs_count = count

    def _set_count(self, name: str, count: int, minimum: int) -> None:
        if count < minimum:
            raise ValueError(f"The number of runs must be at least {minimum}, not {count}")
        self._set_param(f"{self._parameter_prefix}.set_{name}", str(count))

    def _set_param(self, key: str, value: str) -> None:
        """Sets a session parameter for this episode, if there is one, and for all further ones."""
        with suppress(SessionNotFound):  # It is sent when an episode begins.
            self.send_param(key, value, resend_on_reset=True)
