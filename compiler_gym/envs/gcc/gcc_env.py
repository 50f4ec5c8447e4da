"""The GCC environment."""

import json
import math
import operator
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.envs.gcc.datasets import GccDatasets, benchmark_of_source, get_gcc_datasets
from compiler_gym.envs.gcc.gcc import Gcc, get_gcc
from compiler_gym.envs.gcc.spec import GccSpec, get_spec
from compiler_gym.envs.llvm.llvm_rewards import CostFunctionReward
from compiler_gym.errors import EnvironmentNotSupported, SessionNotFound
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.spaces import Reward


def make_gcc_rewards() -> list[Reward]:
    """Makes ``asm_size`` and ``obj_size``: the size before a step less the size after it, in bytes.

    The first step of an episode is compared with ``-O0``, which is what GCC does without options.
    """
    return [
        CostFunctionReward(
            name=name,
            cost_function=name,
            init_cost_function=f"{name}_O0",
            default_value=0,
            default_negates_returns=True,
            deterministic=True,
            platform_dependent=True,
        )
        for name in ("asm_size", "obj_size")
    ]


DEFAULT_BENCHMARK = "benchmark://kernels-v0/sha256"
DEFAULT_TIMEOUT = 60.0

_SERVICE = Path(__file__).absolute().parent / "gcc_service.py"

# What a command line begins with if choices were set: ``[-O2,-fno-gcse]``.
_ASSIGNED = re.compile(r"\[([^\]]*)\](?:\s+|$)")


class GccEnv(ClientServiceCompilerEnv):
    """A C program is compiled by a GCC, and the actions choose its options.

    An episode begins without options, and each action changes one of them: there is an action for
    each value of options with few values, and for others there are actions that go up and down. All
    options can be chosen at once by setting :attr:`choices`.

    Args:
        gcc_bin: The compiler: a name in ``PATH``, a path, or ``docker:IMAGE``, e.g.
            ``"docker:gcc:13"``. By default what the environment variable ``CC`` says, or else
            ``gcc``.
        benchmark: The benchmark to use while none is chosen explicitly; by default the built-in
            program :data:`DEFAULT_BENCHMARK`.
        datasets_site_path: The folder where the default datasets keep their files; by default
            that of ``site_data_path()``.
        timeout: Seconds that a compilation may take; None for no limit. By default 60.
        service: The address ``"host:port"`` of a running service, in place of one of the
            environment's own.
        datasets: The datasets to choose benchmarks from, by default those of
            :func:`get_gcc_datasets`.
        rewards: The rewards to choose from, by default those of :func:`make_gcc_rewards`.
        **kwargs: Arguments of :class:`ClientServiceCompilerEnv`.

    Raises:
        EnvironmentNotSupported: If the compiler is not there, or is not a GCC.
        ValueError: If a compiler is given for a service that runs already, or the time limit is not
            above 0.
    """

    def __init__(
        self,
        gcc_bin: str | Path | None = None,
        benchmark: AnyBenchmark | None = None,
        datasets_site_path: str | Path | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        *,
        service: str | Path | None = None,
        datasets: Datasets | Iterable[Dataset] | None = None,
        rewards: Iterable[Reward] | None = None,
        **kwargs: Any,
    ):
        _check_seconds(timeout)
        is_own = service is None and kwargs.get("service_connection") is None
        if gcc_bin is not None and not is_own:
            raise ValueError(
                "gcc_bin is for a service of the environment's own. Start the running service with "
                "the environment variable CC instead"
            )
        self._gcc = get_gcc(gcc_bin) if is_own else _local_gcc()
        self._gcc_spec = get_spec(self._gcc) if is_own and self._gcc else None
        if is_own and self._gcc:
            settings = kwargs.get("connection_settings") or ConnectionOpts()
            script_env = {**settings.script_env, "CC": self._gcc.bin}
            kwargs["connection_settings"] = settings.model_copy(update={"script_env": script_env})
        if datasets is None:
            datasets = get_gcc_datasets(self._gcc, datasets_site_path)
        self._timeout: float | None = DEFAULT_TIMEOUT
        super().__init__(
            service=_SERVICE if service is None else service,
            benchmark=DEFAULT_BENCHMARK if benchmark is None else benchmark,
            datasets=self._as_gcc_datasets(datasets),
            rewards=make_gcc_rewards() if rewards is None else rewards,
            **kwargs,
        )
        if timeout != DEFAULT_TIMEOUT:
            self.timeout = timeout

    # ----------------------------------------------------------------------------------------------
    # The options.

    @property
    def gcc_spec(self) -> GccSpec:
        """The options of the compiler.

        Raises:
            SessionNotFound: If the service is not the environment's own, and there was no episode.
        """
        if self._gcc_spec is None:
            self._gcc_spec = GccSpec.from_json(json.loads(self.send_param("gcc_spec", "")))
        return self._gcc_spec

    @property
    def choices(self) -> list[int]:
        """The number of each option's value; -1 if the option is left out.

        Setting it clears the actions of the episode, because they no longer have an effect.
        ``env.gcc_spec.choices_of("-Os -fno-gcse")`` makes choices of options.

        Raises:
            SessionNotFound: If there is no episode.
            ValueError: If there are more or fewer options, or one has no such value.
        """
        return [int(value) for value in self.observation["choices"]]

    @choices.setter
    def choices(self, choices: Sequence[int]) -> None:
        values = [operator.index(value) for value in choices]
        self.send_param("choices", ",".join(map(str, values)))
        words = ",".join(self.gcc_spec.words_of(values))
        self._require_episode().begin_again("choices", f"[{words}]")

    @property
    def timeout(self) -> float | None:
        """The time limit of a compilation in seconds; None for no limit. Can be set at any time.

        Forks inherit it. Raises ValueError if it is not positive.
        """
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        _check_seconds(seconds)
        with suppress(SessionNotFound):  # It is sent when an episode begins.
            text = "" if seconds is None else str(seconds)
            self.send_param("timeout", text, resend_on_reset=True)
        self._timeout = seconds

    # ----------------------------------------------------------------------------------------------
    # Observations.

    @property
    def source(self) -> str:
        """The program in C, as GCC gets it."""
        return self.observation["source"]

    @property
    def rtl(self) -> str:
        """The RTL of the program, GCC's last representation before assembly."""
        return self.observation["rtl"]

    @property
    def asm(self) -> str:
        """The assembly."""
        return self.observation["asm"]

    @property
    def asm_size(self) -> int:
        """The length of the assembly, in bytes."""
        return self.observation["asm_size"]

    @property
    def asm_hash(self) -> str:
        """The MD5 hash of the assembly, 32 hexadecimal digits."""
        return self.observation["asm_hash"]

    @property
    def instruction_counts(self) -> dict[str, int]:
        """The number of occurrences of each instruction and directive in the assembly."""
        return json.loads(self.observation["instruction_counts"])

    @property
    def obj(self) -> bytes:
        """The object file."""
        return np.asarray(self.observation["obj"]).tobytes()

    @property
    def obj_size(self) -> int:
        """The length of the object file, in bytes."""
        return self.observation["obj_size"]

    @property
    def obj_hash(self) -> str:
        """The MD5 hash of the object file, 32 hexadecimal digits."""
        return self.observation["obj_hash"]

    @property
    def command_line(self) -> str:
        """The command that makes the object file: ``gcc``, the options, and file names."""
        return self.observation["command_line"]

    def write_object(self, path: str | Path) -> Path:
        """Writes the object file to a file.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            ServiceError: If the program cannot be compiled with these options.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        path.write_bytes(self.obj)
        return path

    def write_executable(self, path: str | Path, linker_options: Sequence[str] = ("-lm",)) -> Path:
        """Links the object file, with the same options, and writes the executable to a file.

        Args:
            path: The file.
            linker_options: Further options.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            ServiceError: If the program cannot be compiled with these options.
            CommandError: If it cannot be linked, e.g. because it has no ``main``.
            EnvironmentNotSupported: If there is no GCC on this machine.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        options = self.gcc_spec.words_of(self.choices)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-gcc-") as name:
            folder = Path(name)
            self.write_object(folder / "program.o")
            arguments = [*options, "-w", "program.o", "-o", "program", *linker_options]
            (self._gcc or get_gcc()).run(arguments, folder, self._timeout)
            shutil.copy(folder / "program", path)
        return path

    # ----------------------------------------------------------------------------------------------
    # States.

    @override
    def commandline(self) -> str:
        """Returns the actions since the reset, by their names.

        If :attr:`choices` have been set, these come first, as ``[-O2,-fno-gcse]``, and then the
        actions since. :meth:`apply` understands both.
        """
        episode = self._runner.episode
        beginning = episode.beginning if episode else ""
        return f"{beginning} {super().commandline()}".strip()

    @override
    def commandline_to_actions(self, commandline: str) -> list[int]:
        """Returns the actions of a text. Raises ValueError if it also has choices."""
        if _ASSIGNED.match(commandline):
            raise ValueError(
                "expected actions only, got options set by env.choices: "
                f"{commandline[:100]}. Use env.apply(state)"
            )
        return super().commandline_to_actions(commandline)

    @override
    def apply(self, state: CompilerEnvState) -> None:
        assigned = _ASSIGNED.match(state.commandline)
        if assigned is None:
            super().apply(state)
            return
        if not self.in_episode:
            self.reset(benchmark=self._benchmark_of(state))
        self.choices = self.gcc_spec.choices_of(filter(None, assigned[1].split(",")))
        rest = state.commandline[assigned.end() :]
        super().apply(state.model_copy(update={"commandline": rest}))

    # ----------------------------------------------------------------------------------------------
    # Benchmarks.

    @property
    def datasets(self) -> Datasets:
        """The datasets to choose benchmarks from. Set it to a ``Datasets`` or a list."""
        return super().datasets

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self._selection.datasets = self._as_gcc_datasets(datasets)

    def make_benchmark(self, path: str | Path, copt: Sequence[str] = ()) -> Benchmark:
        """Makes a benchmark of a C file.

        Args:
            path: The file. Others beside it may be included by it.
            copt: Options of the preprocessor: ``-D``, ``-U``, ``-I``, ``-isystem`` and ``-std=``.

        Returns:
            The benchmark. Its name is complete: ``env.reset(benchmark=name)`` makes it again.

        Raises:
            FileNotFoundError: If there is no such file.
            BenchmarkInitError: If it does not compile. The text says why.
            ValueError: If an option is not one of the preprocessor.
            EnvironmentNotSupported: If there is no GCC on this machine.
        """
        return benchmark_of_source(self._gcc or get_gcc(), Path(path), copt)

    def _as_gcc_datasets(self, datasets: Datasets | Iterable[Dataset]) -> GccDatasets:
        if isinstance(datasets, GccDatasets):
            return datasets
        if isinstance(datasets, Datasets):
            datasets = datasets.datasets(with_deprecated=True)
        return GccDatasets(datasets, self._gcc)


def _check_seconds(seconds: float | None) -> None:
    if seconds is not None and not 0 < seconds < math.inf:
        raise ValueError(f"timeout must be None or a number of seconds above 0, not {seconds}")


def _local_gcc() -> Gcc | None:
    """The GCC of this machine, if there is one, for programs of an environment elsewhere."""
    try:
        return get_gcc()
    except EnvironmentNotSupported:
        return None
