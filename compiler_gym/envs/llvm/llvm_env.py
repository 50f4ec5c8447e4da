"""The LLVM environment."""

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.compat.legacy_actions import LEGACY_SPACE
from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.envs.llvm.benchmarks.command_line_benchmark import (
    BenchmarkFromCommandLine,
    make_benchmark_from_command_line,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import build_executable, build_object
from compiler_gym.envs.llvm.benchmarks.own_programs import (
    BenchmarkInput,
    make_benchmark,
    make_benchmark_from_source,
)
from compiler_gym.envs.llvm.datasets import LlvmDatasets, get_llvm_datasets
from compiler_gym.envs.llvm.derived_observations import derived_observation_spaces
from compiler_gym.envs.llvm.display import RENDER_MODES, diff_of_step, summary_of
from compiler_gym.envs.llvm.inst2vec import Inst2vecEncoder, default_encoder
from compiler_gym.envs.llvm.ir2vec import (
    declare_ir2vec,
    ir2vec_options,
    vocabulary_of_options,
)
from compiler_gym.envs.llvm.legacy_command_line import LegacyCommandline
from compiler_gym.envs.llvm.llvm_command_line import (
    FORGET_ANALYSES,
    LlvmCommandline,
    plugin_options,
)
from compiler_gym.envs.llvm.llvm_rewards import make_llvm_rewards
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.service.program_env import ProgramEnv
from compiler_gym.service.proto import ActionSpace, py_converters
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.spaces import CommandlineFlag, Reward
from compiler_gym.util import llvm_tools
from compiler_gym.util.llvm_engines import use_version
from compiler_gym.util.llvm_tools import OWN_PASSES_FILE
from compiler_gym.util.runfiles_path import find_service_binary

DEFAULT_BENCHMARK = "benchmark://kernels-v0/sha256"

_ALL_SPACE, _LLVM_SPACE = "PassesAll", "PassesLLVM"

# The environment variable with the name of the default action space.
_ACTION_SPACE_VARIABLE = "COMPILER_GYM_ACTION_SPACE"

_PINNING_KEY = "llvm.set_runtime_pinning"
_TARGET_KEY = "llvm.set_target_triple"
_ANALYSES_KEY = "llvm.set_analyses"
_VOCABULARY_KEY = "llvm.set_ir2vec_vocabulary"

_Benchmark = TypeVar("_Benchmark", bound=Benchmark)
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _with_own_llvm(method: _Method) -> _Method:
    """Lets a method of :class:`LlvmEnv` use tools of the same version as the service."""

    @functools.wraps(method)
    def run(env: "LlvmEnv", *args: Any, **kwargs: Any) -> Any:
        with use_version(env._llvm_version):
            return method(env, *args, **kwargs)

    return cast(_Method, run)


class LlvmEnv(ProgramEnv):
    """A program is optimised by LLVM, pass by pass.

    Each action is one pass; the program is at any time exactly what ``opt`` makes of the
    unoptimised program with :meth:`commandline`.

    Args:
        service: The path of the service executable, or the address ``"host:port"`` of a running
            service. By default the executable that belongs to this package.
        benchmark: The benchmark to use while none is chosen explicitly; by default the built-in
            program :data:`DEFAULT_BENCHMARK`.
        datasets_site_path: The folder where the default datasets keep their files; by default
            that of ``site_data_path()``.
        datasets: The datasets to choose benchmarks from. By default the built-in programs, and the
            datasets that were published for CompilerGym, which are downloaded on first use.
        rewards: The rewards to choose from; by default those of :func:`make_llvm_rewards`.
        target_triple: Compile for this target, e.g. ``"riscv64-linux-gnu"``, rather than for that
            which a program names. Sizes and estimates are then those of the target; programs can
            not be built and run. The first ``reset()`` raises ``ValueError`` if LLVM has no such
            target.
        ir2vec_vocabulary: The file, on the machine of the service, of seed vectors for the
            ``Ir2vec`` observations. By default that of the user, see
            :func:`find_ir2vec_vocabulary`, for a service of the environment's own. The length of
            the vectors is part of the spaces where the file can be read here, too.
        action_space: The name of the action space. By default that of the environment variable
            ``COMPILER_GYM_ACTION_SPACE``, such as ``Legacy124``, or else the first one.
        analyses: What happens to analyses after an action, as ``opt`` calls what passes compute to
            ask it. By default they are ``"kept"`` for later passes, as in one run of ``opt``.
            ``"fresh"`` forgets them, so that what an action does depends on the program alone: a
            ``transition_cache`` then knows all ways to a program as soon as it knows one.
        pass_plugins: Plugins of ``opt`` whose passes are actions: files, or texts
            ``"FILE.so:pass,pass"`` that name the passes, for plugins that do not do so themselves.
            ``docs/guides/adding-a-pass.md`` has more.
        llvm_version: The version of LLVM, such as ``23``, if it is installed besides the default.
            That is the one of the environment variable ``COMPILER_GYM_LLVM_VERSION``, or else the
            one of this package. Programs are compiled by clang of the same version.
        **kwargs: Arguments of :class:`ClientServiceCompilerEnv`.

    Raises:
        EnvironmentNotSupported: If the service executable has not been built, or that version of
            LLVM is not installed.
        ServiceInitError: If the service does not start, or a plugin cannot be loaded.
        ValueError: If plugins or a version are given for a service that runs already, or the
            version is not one.
    """

    _parameter_prefix = "llvm"

    metadata: ClassVar[dict[str, Any]] = {
        "render.modes": [*RENDER_MODES],
        "render_modes": [*RENDER_MODES],
    }

    service_options: tuple[str, ...] = ()
    """What a service of the environment's own is started with, besides what the arguments say."""

    action_space_class: ClassVar[type[LlvmCommandline]] = LlvmCommandline

    if TYPE_CHECKING:  # At run time it is that of the base class.

        @property
        def action_space(self) -> LlvmCommandline:
            """The actions that can follow, a space of passes by name."""

        @action_space.setter
        def action_space(self, space: str | Space[Any] | None) -> None: ...

    def __init__(
        self,
        service: str | Path | None = None,
        benchmark: AnyBenchmark | None = None,
        datasets_site_path: str | Path | None = None,
        *,
        datasets: Datasets | Iterable[Dataset] | None = None,
        rewards: Iterable[Reward] | None = None,
        target_triple: str | None = None,
        ir2vec_vocabulary: str | Path | None = None,
        pass_plugins: Iterable[str | Path] = (),
        analyses: str = "kept",
        llvm_version: int | str | None = None,
        **kwargs: Any,
    ):
        if analyses not in ("kept", "fresh"):
            raise ValueError(f'analyses is "kept" or "fresh", not {analyses!r}')
        self._forget_analyses = analyses == "fresh"
        is_own = service is None and kwargs.get("service_connection") is None
        if llvm_version is not None and not is_own:
            raise ValueError(
                "llvm_version chooses the service, and one is given: leave out one of them"
            )
        options = plugin_options(pass_plugins)
        with use_version(llvm_version):
            self._llvm_version = llvm_tools.llvm_version() if is_own else None
            if service is None:
                service = find_service_binary("compiler_gym-llvm-service")
            if options:
                _require_own_service(service, kwargs.get("service_connection"))
            options += self.service_options
            if is_own and ir2vec_vocabulary is None:
                options += ir2vec_options()
            variables = llvm_tools.service_environment() if is_own else {}
        if options or variables:
            settings = kwargs.get("connection_settings") or ConnectionOpts()
            kwargs["connection_settings"] = settings.model_copy(
                update={
                    "script_args": [*settings.script_args, *options],
                    "script_env": variables | settings.script_env,
                }
            )
        if datasets is None:
            datasets = get_llvm_datasets(datasets_site_path)
        self._runtime_pinning = False
        super().__init__(
            service=service,
            benchmark=DEFAULT_BENCHMARK if benchmark is None else benchmark,
            datasets=_as_llvm_datasets(datasets),
            rewards=make_llvm_rewards() if rewards is None else rewards,
            derived_observation_spaces=derived_observation_spaces(),
            service_message_converters=ServiceMessageConverters(
                action_space_converter=self._make_action_space,
                derived_action_spaces=self._spaces_of_llvm,
            ),
            **kwargs,
        )
        if self._forget_analyses:
            self._set_param(_ANALYSES_KEY, analyses)
            # What comes next depends on nothing but the module, of which that is a hash.
            self._sessions.identify_states_by("IrSha1")
        if target_triple is not None:
            self._set_param(_TARGET_KEY, target_triple)
        if ir2vec_vocabulary is not None:
            self._set_param(_VOCABULARY_KEY, str(Path(ir2vec_vocabulary).expanduser().absolute()))
        else:
            options = self.service.opts.script_args
            self._declare_ir2vec(vocabulary_of_options(options))

    @classmethod
    def _make_action_space(cls, proto: ActionSpace) -> LlvmCommandline:
        space: Any = py_converters.space_from_proto(proto.space, proto.name)
        items = zip(space.names, space.flags, space.descriptions, space.options, strict=True)
        space_class = cls._action_space_class(space.name)
        return space_class([CommandlineFlag(*item) for item in items], name=space.name)

    @classmethod
    def _action_space_class(cls, name: str) -> type[LlvmCommandline]:
        """Returns the class of the action space with a name."""
        return LegacyCommandline if name == LEGACY_SPACE else cls.action_space_class

    @classmethod
    def _spaces_of_llvm(cls, space: Any) -> list[LlvmCommandline]:
        """Returns the space of LLVM's own passes. They come first in the space of all passes."""
        if space.name != _ALL_SPACE:
            return []
        items = takewhile(lambda item: OWN_PASSES_FILE not in item.option, space.items)
        return [cls.action_space_class(items, name=_LLVM_SPACE)]

    @override
    def _default_action_space(self) -> str | None:
        name = os.environ.get(_ACTION_SPACE_VARIABLE)
        names = [space.name for space in self.action_spaces]
        if name and name not in names:
            error = unknown_name("action space", name, names)
            raise ValueError(f"{_ACTION_SPACE_VARIABLE}={name}: {error}")
        return name or None

    # ----------------------------------------------------------------------------------------------
    # Actions as text.

    def commandline(self, textformat: bool = False) -> str:
        """Returns the command line of ``opt`` that is equivalent to the actions since the reset.

        It turns ``input.bc``, the unoptimised program, into ``output.bc``, the program as it is,
        byte for byte, if ``opt`` is that of the service's LLVM: that of
        :func:`compiler_gym.third_party.llvm.opt_path`. A shell may find another one.

        Args:
            textformat: Whether to use textual IR instead: ``input.ll`` and ``output.ll``.
        """
        return self._spelling.to_string(
            self.actions, textformat=textformat, forget_analyses=self._forget_analyses
        )

    def commandline_to_actions(self, commandline: str) -> list[int]:
        """Returns the actions that a command line of ``opt`` stands for.

        Args:
            commandline: What :meth:`commandline` returns, or one of the forms that
                :meth:`LlvmCommandline.from_string` understands.

        Raises:
            ValueError: If it is malformed, or a pass is not an action. The text names similar ones.
        """
        if self._forget_analyses:
            commandline = commandline.replace(f",{FORGET_ANALYSES}", "")
        elif FORGET_ANALYSES in commandline:
            raise ValueError(
                f"{FORGET_ANALYSES} is not an action: this command line is of an environment that "
                'was made with analyses="fresh"'
            )
        return super().commandline_to_actions(commandline)

    # ----------------------------------------------------------------------------------------------
    # Measuring run time.

    @property
    def runtime_pinning(self) -> bool:
        """True if runs for a ``Runtime`` observation are pinned to one processor; false by default.

        It makes measurements of programs with a single thread steadier. Where the service may not
        do it, it does nothing. Can be set at any time, and is inherited by forks.
        """
        return self._runtime_pinning

    @runtime_pinning.setter
    def runtime_pinning(self, pinning: bool) -> None:
        self._set_param(_PINNING_KEY, str(int(pinning)))
        self._runtime_pinning = bool(pinning)

    @override
    def send_params(self, *params: tuple[str, str], resend_on_reset: bool = False) -> list[str]:
        if vocabulary := dict(params).get(_VOCABULARY_KEY):
            self._declare_ir2vec(Path(vocabulary))
        return super().send_params(*params, resend_on_reset=resend_on_reset)

    def _declare_ir2vec(self, vocabulary: Path | None) -> None:
        spaces = self.observation.spaces
        declare_ir2vec(spaces, vocabulary)
        # The default observation may be one of them, in its former description.
        default = self.observation_space_spec
        if default is not None and default in spaces:
            self.observation_space_spec = spaces[default.id]

    # ----------------------------------------------------------------------------------------------
    # The program: reading, writing to files, showing.

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

    @_with_own_llvm
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

    @_with_own_llvm
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

    # ----------------------------------------------------------------------------------------------
    # Benchmarks.

    reset = _with_own_llvm(ProgramEnv.reset)
    prepare_reset = _with_own_llvm(ProgramEnv.prepare_reset)
    validate = _with_own_llvm(ProgramEnv.validate)

    @property
    def datasets(self) -> LlvmDatasets:
        """The datasets to choose benchmarks from. Set it to a ``Datasets`` or a list."""
        return cast(LlvmDatasets, super().datasets)

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self._selection.datasets = _as_llvm_datasets(datasets)

    @_with_own_llvm
    def make_benchmark(
        self,
        inputs: BenchmarkInput | Iterable[BenchmarkInput],
        copt: Sequence[str] | None = None,
        system_includes: bool = True,
        timeout: float = 600,
    ) -> Benchmark:
        """Makes a benchmark of the user's files, and registers its URI with the environment."""
        return self._remembered(make_benchmark(inputs, copt, system_includes, timeout))

    @_with_own_llvm
    def make_benchmark_from_source(
        self,
        source: str | bytes,
        copt: Sequence[str] | None = None,
        lang: str = "c++",
        system_includes: bool = True,
        timeout: float = 600,
    ) -> Benchmark:
        """Makes a benchmark of source text, and registers its URI with the environment."""
        benchmark = make_benchmark_from_source(source, copt, lang, system_includes, timeout)
        return self._remembered(benchmark)

    @_with_own_llvm
    def make_benchmark_from_command_line(
        self,
        cmd: str | Sequence[str],
        replace_driver: bool = True,
        system_includes: bool = True,
        timeout: float = 600,
    ) -> BenchmarkFromCommandLine:
        """Makes a benchmark of a compiler command, and registers its URI with the environment."""
        benchmark = make_benchmark_from_command_line(cmd, replace_driver, system_includes, timeout)
        return self._remembered(benchmark)

    def _remembered(self, benchmark: _Benchmark) -> _Benchmark:
        self.datasets.remember(benchmark)
        return benchmark


def _require_own_service(service: str | Path, connection: object) -> None:
    is_address = isinstance(service, str) and not Path(service).exists() and ":" in service
    if connection is not None or is_address:
        raise ValueError(
            "pass_plugins need a service of the environment's own. Start the running service with "
            "--load-pass-plugin instead"
        )


def _as_llvm_datasets(datasets: Datasets | Iterable[Dataset]) -> LlvmDatasets:
    if isinstance(datasets, LlvmDatasets):
        return datasets
    if isinstance(datasets, Datasets):
        datasets = datasets.datasets(with_deprecated=True)
    return LlvmDatasets(datasets)
