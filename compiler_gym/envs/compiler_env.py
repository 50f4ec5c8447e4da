"""The interface of environments, in which an agent optimises a program action by action."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Final, NoReturn

from gymnasium.spaces import Space
from typing_extensions import Self

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.envs.running_step import FinishedStep, RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.env_spec import EnvSpec, describe_env
from compiler_gym.util.gym_type_hints import OptionalArgumentValue, StepType
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView

UNCHANGED: Final = OptionalArgumentValue.UNCHANGED

# Another name of it.
StepResult = StepType


class CompilerEnv(ABC):
    """An environment in which an agent transforms one program at a time.

    The interface is that of the classic ``gym`` environments: ``reset()`` returns an observation
    and ``step()`` a tuple of four. On top of it, any observation or reward can be asked for at any
    time, many actions can be applied at once, and an episode can be forked, saved and validated.
    ``gymnasium.make()`` gives the same environments with gymnasium's interface.

    >>> env = compiler_gym.make("llvm-autophase-ic-v0")
    >>> env.reset(benchmark="benchmark://kernels-v0/sha256")
    >>> observation, reward, done, info = env.step(env.action_space.sample())
    >>> env.close()

    Use an environment from one thread at a time. Close it at the end, or use it as a context
    manager. It cannot be copied; ``copy.deepcopy`` makes a fork.

    Attributes:
        metadata: The render modes.
        spec: The specification that ``compiler_gym.make()`` used, or None.
        render_mode: The mode that was given to ``gym.make()``, or None.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render.modes": ["human", "ansi"],
        "render_modes": ["human", "ansi"],
    }
    spec: EnvSpec | None = None
    render_mode: str | None = None

    # ------------------------------------------------------------------------------------------
    # Spaces.

    @property
    def observation_space(self) -> Space[Any] | None:
        """The space of the observations that steps return by default, or None.

        Set it by the name of an observation, by an ``ObservationSpaceSpec``, or to None for no
        default observation.

        Raises:
            LookupError: If set to a name that does not exist.
        """
        spec = self.observation_space_spec
        return spec.space if spec else None

    @observation_space.setter
    def observation_space(self, space: str | ObservationSpaceSpec | None) -> None:
        self.observation_space_spec = space

    @property
    @abstractmethod
    def observation_space_spec(self) -> ObservationSpaceSpec | None:
        """The description of the default observation. Set it like :attr:`observation_space`."""

    @observation_space_spec.setter
    @abstractmethod
    def observation_space_spec(self, space: str | ObservationSpaceSpec | None) -> None: ...

    @property
    @abstractmethod
    def reward_space(self) -> Reward | None:
        """The reward that steps return by default, or None.

        Set it by the name of a reward, by a ``Reward`` (which is added to the known ones), or to
        None for no reward. Setting it during an episode resets ``episode_reward``.

        Raises:
            LookupError: If set to a name that does not exist.
        """

    @reward_space.setter
    @abstractmethod
    def reward_space(self, space: str | Reward | None) -> None: ...

    @property
    def reward_space_spec(self) -> Reward | None:
        """Same as :attr:`reward_space`."""
        return self.reward_space

    @reward_space_spec.setter
    def reward_space_spec(self, space: str | Reward | None) -> None:
        self.reward_space = space

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward of a step; infinite if there is no reward space."""
        return self.reward_space.range if self.reward_space else (-float("inf"), float("inf"))

    @property
    @abstractmethod
    def action_space(self) -> Any:
        """The space of actions. Its ``to_string`` and ``from_string`` spell them as text.

        Set it by name, or to None for the first of :attr:`action_spaces`; takes effect with the
        next reset. Some compilers change it during an episode, see ``info["new_action_space"]``.

        Its type is Any because the kind of space is the compiler's choice, and most have more than
        ``gymnasium.Space``: a number of actions ``n``, ``names``, ``flags``.

        Raises:
            LookupError: If set to a name that does not exist.
        """

    @action_space.setter
    @abstractmethod
    def action_space(self, space: str | Space[Any] | None) -> None: ...

    @property
    @abstractmethod
    def action_spaces(self) -> list[Any]:
        """The action spaces to choose from, of any kind as :attr:`action_space`."""

    @property
    @abstractmethod
    def observation(self) -> ObservationView:
        """Any observation of the current state: ``env.observation["Ir"]``."""

    @observation.setter
    @abstractmethod
    def observation(self, view: ObservationView) -> None: ...

    @property
    @abstractmethod
    def reward(self) -> RewardView:
        """Any reward of the current state: ``env.reward["IrInstructionCount"]``."""

    @reward.setter
    @abstractmethod
    def reward(self, view: RewardView) -> None: ...

    # ------------------------------------------------------------------------------------------
    # Benchmarks.

    @property
    @abstractmethod
    def benchmark(self) -> Benchmark | None:
        """The program of the episode; outside of one, that of the next episode if known.

        Set it by URI or as a ``Benchmark``; during an episode this warns, and takes effect with
        the next reset.

        Raises:
            LookupError: If set to a URI that does not exist.
            TypeError: If set to another type.
        """

    @benchmark.setter
    @abstractmethod
    def benchmark(self, benchmark: AnyBenchmark) -> None: ...

    @property
    @abstractmethod
    def datasets(self) -> Datasets:
        """The datasets to choose benchmarks from. Set it to a ``Datasets`` or a list."""

    @datasets.setter
    @abstractmethod
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None: ...

    @property
    @abstractmethod
    def benchmarks(self) -> list[str]:
        """URIs of benchmarks that can be used at once: those of the installed datasets.

        At most the first thousand of each dataset, because some are infinite. Use ``env.datasets``
        for more.
        """

    @abstractmethod
    def require_datasets(self, names: Iterable[str | Dataset]) -> None:
        """Installs datasets if needed. Further episodes begin with a random program of them.

        A benchmark that was chosen explicitly, by ``reset(benchmark=...)`` or by setting
        :attr:`benchmark`, is kept.

        Raises:
            LookupError: If there is no dataset of a name.
            DatasetInitError: If a dataset cannot be installed.
        """

    def require_dataset(self, name: str | Dataset) -> None:
        """Installs a dataset, see :meth:`require_datasets`."""
        self.require_datasets([name])

    @abstractmethod
    def seed(self, seed: int | None = None) -> list[int | None]:
        """Makes the choice of random benchmarks and ``action_space.sample()`` repeatable.

        Returns:
            The seed, in a list.
        """

    # ------------------------------------------------------------------------------------------
    # Episodes.

    @abstractmethod
    def reset(
        self,
        benchmark: AnyBenchmark | None = None,
        action_space: str | None = None,
        observation_space: str | ObservationSpaceSpec | OptionalArgumentValue | None = UNCHANGED,
        reward_space: str | Reward | OptionalArgumentValue | None = UNCHANGED,
        timeout: float = TIMEOUT,
    ) -> Any:
        """Starts a new episode.

        Also continues after a failure: a service that has ended is started again.

        Args:
            benchmark: The program of this and further episodes.
            action_space: The name of an action space to set.
            observation_space: A default observation to set, by name, as object, or None.
            reward_space: A default reward to set, by name, as object, or None.
            timeout: Time limit in seconds, over all attempts.

        Returns:
            The default observation, or None if there is none.

        Raises:
            TypeError: If there is no benchmark to use.
            LookupError: If there is nothing of a given name.
            BenchmarkInitError: If the program cannot be used. It is an OSError and a ValueError.
            OSError: If the service fails repeatedly, or exceeds the time limit (TimeoutError).
        """

    def prepare_reset(  # noqa: B027 - by default, it does nothing.
        self, benchmark: AnyBenchmark | None = None, timeout: float = TIMEOUT
    ) -> None:
        """Ends the episode, and begins what the next :meth:`reset` does, without waiting for it.

        This resets several environments in parallel. It may do nothing.

        Args:
            benchmark: The program of the next :meth:`reset`.
            timeout: Time limit in seconds, counted from this call.
        """

    @abstractmethod
    def step(
        self,
        action: Any,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = TIMEOUT,
    ) -> StepResult:
        """Applies an action.

        A failure of the compiler ends the episode: the result is then the default observation,
        the reward that takes back those of the episode, ``done``, and an ``info`` with
        ``error_type``, the name of the exception's class, and ``error_details``, its whole text.
        An episode that is lost for another reason (time limit, a process killed from outside,
        Ctrl-C, no service) ends with the last observation, the reward 0, and
        ``info["TimeLimit.truncated"]`` as well.
        Environments that recover continue instead, with ``info["recovered"]``.

        Args:
            action: An element of :attr:`action_space`, or its name if the space has names.
            observation_spaces: Observations to return as a list, in place of the default one.
            reward_spaces: Rewards to return as a list, in place of the default one;
                :attr:`episode_reward` then does not change.
            observations: Deprecated name of ``observation_spaces``.
            rewards: Deprecated name of ``reward_spaces``.
            timeout: Time limit in seconds.

        Returns:
            Observation, reward, True if the episode has ended, and information with the booleans
            ``action_had_no_effect`` and ``new_action_space``.

        Raises:
            TypeError: If the action is of a wrong type.
            ValueError: If the action is not in the action space, or the observation cannot be
                made of this program.
            SessionNotFound: If there is no episode.
        """

    @abstractmethod
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = TIMEOUT,
    ) -> StepResult:
        """Applies any number of actions, and observes once after the last. See :meth:`step`.

        Faster than single steps. An empty list of actions only observes. If an action is refused
        (ValueError), the actions before it stay applied.
        """

    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        """Starts the work of :meth:`multistep` without waiting for the result.

        This steps several environments in parallel. A class that only overrides :meth:`multistep`
        or :meth:`step` gets a version that waits for the step.

        Until the step is finished by its ``result()``, only :meth:`reset` and :meth:`close` are
        allowed, after its ``cancel()``.

        Args:
            actions: The actions, in order. The step returns the default observation and reward.
            timeout: Time limit in seconds.

        Raises:
            TypeError: If an action is of a wrong type.
            ValueError: If an action is not in the action space.
        """
        return FinishedStep(self.multistep(actions, timeout=timeout))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

        def origin(name: str) -> type:
            return next(base for base in cls.__mro__ if name in vars(base))

        # Not issubclass(): it fails on abstract classes that are still being created.
        known = origin("begin_multistep").__mro__
        if origin("multistep") not in known or origin("step") not in known:
            # The method of a base class would skip these overrides.
            cls.begin_multistep = CompilerEnv.begin_multistep  # type: ignore[method-assign]

    @abstractmethod
    def fork(self) -> Self:
        """Returns an independent environment in exactly the state of this one.

        Starts an episode first if there was none yet. If the episode has ended, by a failure or by
        :meth:`close`, the fork's has too. Close both. They share a service.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the episode, and the service if no fork needs it. May be called repeatedly.

        A further :meth:`reset` starts the environment again.
        """

    def render(self, mode: str = "human") -> str | None:
        """Shows the default observation.

        Args:
            mode: ``"human"`` prints it, ``"ansi"`` returns it as text.

        Raises:
            ValueError: If the mode is another, or there is no default observation.
        """
        if mode not in self.metadata["render_modes"]:
            modes = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"Unknown render mode {mode!r}. There are: {modes}")
        spec = self.observation_space_spec
        if spec is None:
            raise ValueError("Cannot render without an observation space. Set one first")
        text = spec.to_string(self.observation[spec.id])
        if mode == "ansi":
            return text
        print(text)
        return None

    @property
    @abstractmethod
    def in_episode(self) -> bool:
        """True from :meth:`reset` until a failure or :meth:`close`."""

    @property
    @abstractmethod
    def episode_reward(self) -> float | None:
        """The sum of default rewards since the reset; None if there is no reward space."""

    @episode_reward.setter
    @abstractmethod
    def episode_reward(self, reward: float | None) -> None: ...

    @property
    @abstractmethod
    def episode_walltime(self) -> float:
        """Seconds since the reset."""

    @property
    @abstractmethod
    def actions(self) -> list[Any]:
        """All actions since the reset, including those without effect and those that failed.

        Excludes actions that failed and from which the environment recovered.
        """

    # ------------------------------------------------------------------------------------------
    # States.

    @property
    @abstractmethod
    def state(self) -> CompilerEnvState:
        """The current state: the program and its actions, which reproduce it.

        Raises:
            SessionNotFound: If there was no episode yet.
        """

    @abstractmethod
    def apply(self, state: CompilerEnvState) -> None:
        """Applies the actions of a state, starting an episode of its benchmark if there is none.

        Warns if the benchmark of the episode is another.

        Raises:
            ValueError: If the actions are not valid, or the episode ends before all are applied.
        """

    @abstractmethod
    def validate(self, state: CompilerEnvState | None = None) -> ValidationResult:
        """Checks that a state is reproducible, has the same reward, and behaves correctly.

        Replays the actions in a separate environment; this one does not change. Compares the reward
        if the reward space is deterministic, then runs the validators of the benchmark.

        Args:
            state: The state, by default the current one.
        """

    def commandline(self) -> str:
        """Returns the actions since the reset as the compiler's command line."""
        return self.action_space.to_string(self.actions)

    def commandline_to_actions(self, commandline: str) -> list[Any]:
        """Returns the actions of a command line.

        Raises:
            ValueError: If a part of it is not an action.
        """
        return self.action_space.from_string(commandline)

    # ------------------------------------------------------------------------------------------
    # Versions.

    @property
    @abstractmethod
    def version(self) -> str:
        """The version of the service."""

    @property
    @abstractmethod
    def compiler_version(self) -> str:
        """The version of the compiler."""

    # ------------------------------------------------------------------------------------------
    # Shared behaviour.

    @property
    def unwrapped(self) -> "CompilerEnv":
        """The environment inside of all wrappers."""
        return self

    def _known_costs(self) -> str:
        """Describes the known costs of the program. Computes nothing."""
        return ""

    def __repr__(self) -> str:
        return describe_env(self, self._known_costs)

    def __str__(self) -> str:
        return repr(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> NoReturn:
        raise TypeError("An environment cannot be copied. Use env.fork()")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "An environment cannot be pickled, because its compiler runs in a process of its own. "
            "Send env.state, or what compiler_gym.make() is to be called with, and make an "
            "environment there; gymnasium.make_vec() does so"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.fork()


def waits_for_steps(env: CompilerEnv) -> bool:
    """Returns true if ``env.begin_multistep()`` waits for the step to end."""
    return type(env).begin_multistep is CompilerEnv.begin_multistep
