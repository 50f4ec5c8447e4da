"""The task: programs, and actions, observations and rewards that help a learner."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np

import compiler_gym
from compiler_gym.datasets.selection import files_by_package
from compiler_gym.envs import CompilerEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.evaluation import Evaluation
from compiler_gym.evaluation.protocol import Policy as AnyPolicy
from compiler_gym.tuning.policies.policy import COST, Policy
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import (
    ActionHistogram,
    AutophaseNorm,
    CompilerEnvWrapper,
    ObservationWrapper,
    RewardWrapper,
)

ENV_ID = "llvm-autophase-ic-v0"

PASSES = 45
"""The maximum number of passes of an episode, which is that of the shipped policies."""

PIECE = 5
"""The maximum number of passes of an action that is a piece of a sequence."""

SMALLEST, LARGEST = 100, 5_000
"""The IR instructions of files before any pass. Smaller programs are too coarse, larger slow."""

_ENVS = 8
_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


def programs(
    env: CompilerEnv, part: str, files: int, count: int | None = None, seed: int = 0
) -> list[str]:
    """Returns the kernels of a part, and files of all its packages of ``opensource-v0``.

    Args:
        env: An LLVM environment.
        part: ``"train"``, ``"validation"`` or ``"test"``.
        files: The number of files to draw from each package. Those that are too small or too
            large are then left out.
        count: The number of files to draw from the rest; None for all.
        seed: Chooses the files.

    Raises:
        ServiceError: A program cannot be compiled.
    """
    rng = random.Random(seed)
    drawn = [
        uri
        for _, uris in sorted(files_by_package(env.datasets, part).items())
        for uri in rng.sample(uris, min(files, len(uris)))
    ]
    kernels = env.datasets["benchmark://kernels-v0"].benchmark_uris(part=part)
    fitting = [uri for uri in drawn if SMALLEST <= _size(env, uri) <= LARGEST]
    if count is not None:
        fitting = random.Random(seed).sample(fitting, min(count, len(fitting)))
    return [*kernels, *fitting]


def _size(env: CompilerEnv, uri: str) -> int:
    env.reset(benchmark=uri)
    return int(env.observation[COST])


def pieces() -> list[tuple[str, ...]]:
    """Returns the sequences of the shipped coreset, cut into pieces of at most five passes.

    The first nine in this order are the shipped policy ``sequence``.
    """
    cut = [
        each[begin : begin + PIECE]
        for each in Policy.load("coreset").sequences
        for begin in range(0, len(each), PIECE)
    ]
    return [*dict.fromkeys(cut)]


def single_passes() -> list[tuple[str, ...]]:
    """Returns each pass of the shipped coreset as a sequence of its own."""
    return [(name,) for name in sorted({name for each in pieces() for name in each})]


class UndoLarger(CompilerEnvWrapper):
    """Undoes steps that make the program larger. Their passes count all the same.

    Args:
        env: An LLVM environment, whose default observation is Autophase.
    """

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Starts an episode."""
        self._seen = super().reset(*args, **kwargs)
        return self._seen

    def multistep(self, actions: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Runs passes, and goes back if there are more IR instructions than before."""
        fork = self.env.fork()
        result = self.env.multistep(actions, *args, **kwargs)
        if not result[2] and result[0][_TOTAL] <= self._seen[_TOTAL]:
            fork.close()
            self._seen = result[0]
            return result
        self.env.close()
        self.env = fork
        return self._seen, 0.0, False, result[3]


class SequenceActions(CompilerEnvWrapper):
    """Actions that are short sequences of passes.

    Args:
        env: An LLVM environment.
        sequences: The names of the passes of each action.

    Attributes:
        chosen: The actions since the reset.
        passes_run: The number of passes since the environment was made.
    """

    def __init__(self, env: CompilerEnv, sequences: Sequence[Sequence[str]]):
        super().__init__(env)
        self._sequences = [[env.action_space[name] for name in each] for each in sequences]
        self._space = gymnasium.spaces.Discrete(len(sequences))
        self.chosen: list[int] = []
        self.passes_run = 0

    @property
    def action_space(self) -> Any:
        """The numbers of the sequences."""
        return self._space

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Starts an episode."""
        self.chosen = []
        return super().reset(*args, **kwargs)

    def multistep(self, actions: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Runs the passes of actions."""
        return super().multistep(self._passes(actions), *args, **kwargs)

    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> Any:
        """Starts to run the passes of actions."""
        return super().begin_multistep(self._passes(actions), timeout)

    def _passes(self, actions: Iterable[Any]) -> list[int]:
        numbers = [int(action) for action in actions]
        self.chosen += numbers
        passes = [each for number in numbers for each in self._sequences[number]]
        self.passes_run += len(passes)
        return passes


class ProgramFeatures(ObservationWrapper):
    """Observes shares of Autophase, sizes, and the actions so far, as one vector of float32.

    The sizes are logarithms: of the instructions, and of their ratios to the first and to the
    smallest number of the episode. The number of actions so far follows, as a share of the episode;
    then the count of each action, and the last one in one-hot encoding.

    Args:
        env: An environment that observes Autophase, with :class:`SequenceActions`.
        steps: The number of actions of an episode.
    """

    def __init__(self, env: CompilerEnv, steps: int):
        super().__init__(env)
        self._steps = steps
        self._actions = int(env.action_space.n)
        self._first = self._least = 0.0
        size = len(AUTOPHASE_FEATURE_NAMES) + 4 + 2 * self._actions
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Starts an episode."""
        self._first = 0.0
        return super().reset(*args, **kwargs)

    def convert_observation(self, observation: Any) -> np.ndarray:
        """Converts Autophase; zeros after a failure."""
        if observation is None:
            return np.zeros(self.observation_space.shape, np.float32)
        total = max(float(observation[_TOTAL]), 1)
        chosen: list[int] = self.env.chosen
        self._first = self._first or total
        self._least = min(self._least, total) if chosen else total
        sizes = [
            np.log(total) / 10,
            np.log(total / self._first),
            np.log(total / self._least),
            len(chosen) / self._steps,
        ]
        counts = np.bincount(np.array(chosen, dtype=int), minlength=self._actions)
        last = np.zeros(self._actions)
        last[chosen[-1:]] = 1
        return np.concatenate([observation / total, sizes, counts / 3, last]).astype(np.float32)


class LogReward(RewardWrapper):
    """Rewards the logarithm of the size before a step, divided by the size after it.

    The sum over an episode is then the logarithm of the metric, up to a constant of the program.

    Args:
        env: An environment with the reward ``IrInstructionCountNorm``.
        best: Whether to reward only steps to the smallest size so far.
    """

    def __init__(self, env: CompilerEnv, best: bool = False):
        super().__init__(env)
        self._best = best
        self._share = self._least = 1.0

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Starts an episode."""
        self._share = self._least = 1.0
        return super().reset(*args, **kwargs)

    def convert_reward(self, reward: float) -> float:
        """Converts a reward, the share of the instructions that the step has removed."""
        before = self._least if self._best else self._share
        self._share = max(self._share - reward, 1e-6)
        self._least = min(self._least, self._share)
        return float(np.log(before / (self._least if self._best else self._share)))


@dataclass(frozen=True)
class Setting:
    """A way to present the task to a learner.

    Attributes:
        steps: The number of actions of an episode.
        wrappers: The wrappers of environments, for training and for judging.
        reward: The reward of training.
        shaping: Further wrappers, for training only.
        rollout: The number of actions between updates, in each of eight environments.
        epochs: The number of times that each update uses its actions.
        batch: The number of actions of a gradient.
        rate: The learning rate.
    """

    steps: int
    wrappers: list[Callable[[CompilerEnv], CompilerEnv]]
    reward: str = "IrInstructionCountNorm"
    shaping: list[Callable[[CompilerEnv], CompilerEnv]] = field(default_factory=list)
    rollout: int = 2 * PASSES
    epochs: int = 4
    batch: int = 120
    rate: float = 5e-4

    def training_envs(self, benchmarks: list[str]) -> CompilerVectorEnv:
        """Makes the vector environment to learn from."""
        return compiler_gym.make_vec(
            ENV_ID,
            _ENVS,
            autoreset_mode="SameStep",
            benchmarks=benchmarks,
            random_benchmarks=True,
            max_episode_steps=self.steps,
            wrappers=[*self.wrappers, *self.shaping],
            reward_space=self.reward,
        )

    def judge(
        self, policy: AnyPolicy, benchmarks: list[str], seed: int, deterministic: bool = False
    ) -> Evaluation:
        """Plays an episode of each program by the protocol of the package."""
        return compiler_gym.evaluate(
            policy,
            ENV_ID,
            benchmarks=benchmarks,
            seeds=[seed],
            deterministic=deterministic,
            check=False,
            max_episode_steps=self.steps,
            wrappers=self.wrappers,
        )


def plain() -> Setting:
    """Returns the setting of the guide: all passes, Autophase, and the reward of the id."""
    return Setting(
        PASSES,
        [AutophaseNorm, partial(ActionHistogram, divisor=PASSES)],
        reward="IrInstructionCountOz",
    )


def with_sequences(
    sequences: Sequence[Sequence[str]],
    undo: bool = False,
    best: bool = False,
) -> Setting:
    """Returns a setting with short sequences as actions, and rewards that fit the metric.

    Args:
        sequences: The names of the passes of each action.
        undo: Whether to undo actions that make the program larger.
        best: See :class:`LogReward`.
    """
    steps = PASSES // max(map(len, sequences))
    inner: list[Callable[[CompilerEnv], CompilerEnv]] = [UndoLarger] if undo else []
    return Setting(
        steps,
        [
            *inner,
            partial(SequenceActions, sequences=sequences),
            partial(ProgramFeatures, steps=steps),
        ],
        shaping=[partial(LogReward, best=best)],
        rollout=steps * 3,
        epochs=8,
        batch=steps * 8,
        rate=1e-3,
    )
