"""The task: programs, and actions, observations and rewards that help a learner."""

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import gymnasium
import numpy as np

import compiler_gym
from compiler_gym.datasets.datasets import round_robin_iterables
from compiler_gym.datasets.selection import files_by_package
from compiler_gym.envs import CompilerEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.evaluation import Evaluation
from compiler_gym.evaluation.policies import Policy as AnyPolicy
from compiler_gym.tuning.policies.pieces_env import pieces
from compiler_gym.tuning.policies.policy import COST
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import (
    ActionHistogram,
    AutophaseNorm,
    BestSoFar,
    LogReward,
    Macros,
    ObservationWrapper,
    UndoLarger,
)

ENV_ID = "llvm-autophase-ic-v0"

PASSES = 45
"""The maximum number of passes of an episode, which is that of the shipped policies."""

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


def programs_by_package(
    env: CompilerEnv, part: str, count: int, largest: int = LARGEST
) -> list[str]:
    """Returns programs of a part of ``opensource-v1``. Nothing is downloaded.

    Packages take turns, in the order of the SHA-256 digests of their names. The programs of a
    package are in the order of the digests of their URIs. Programs that are too small or too large
    are left out.
    """
    dataset = env.datasets["benchmark://opensource-v1"]
    packages: dict[str, list[str]] = {}
    for facts in dataset.table(part):
        if SMALLEST <= facts.instructions <= largest:
            packages.setdefault(facts.package, []).append(facts.benchmark)
    turns = [sorted(packages[name], key=_digest) for name in sorted(packages, key=_digest)]
    return [*islice(round_robin_iterables(turns), count)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _size(env: CompilerEnv, uri: str) -> int:
    env.reset(benchmark=uri)
    return int(env.observation[COST])


def single_passes() -> list[tuple[str, ...]]:
    """Returns each pass of the shipped coreset as a sequence of its own."""
    return [(name,) for name in sorted({name for each in pieces() for name in each})]


class SequenceActions(Macros):
    """Actions that are short sequences of passes, counted.

    Attributes:
        chosen: The actions since the reset.
        passes_run: The number of passes since the environment was made.
    """

    def __init__(self, env: CompilerEnv, sequences: Sequence[Sequence[str]]):
        super().__init__(env, sequences)
        self._lengths = [len(each) for each in sequences]
        self.chosen: list[int] = []
        self.passes_run = 0

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Starts an episode."""
        self.chosen = []
        return super().reset(*args, **kwargs)

    def multistep(self, actions: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Runs the passes of actions."""
        return super().multistep(self._counted(actions), *args, **kwargs)

    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> Any:
        """Starts to run the passes of actions."""
        return super().begin_multistep(self._counted(actions), timeout)

    def _counted(self, actions: Iterable[Any]) -> list[int]:
        numbers = [int(action) for action in actions]
        self.chosen += numbers
        self.passes_run += sum(self._lengths[number] for number in numbers)
        return numbers


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
        best: Whether to reward only steps to the smallest size so far.
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
        shaping=[LogReward, *([BestSoFar] if best else [])],
        rollout=steps * 3,
        epochs=8,
        batch=steps * 8,
        rate=1e-3,
    )
