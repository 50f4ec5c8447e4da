"""Minimisation of an episode's actions, e.g. to those that break the program.

Each function takes an environment in a state where a hypothesis holds, and finds states with fewer
actions where it still holds. It yields the environment in each such state, and leaves it in the
last one. ``list(bisect_trajectory(env))`` goes to the end.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import MinimizationError
from compiler_gym.util.sequence_reducer import reductions

Hypothesis = Callable[[CompilerEnv], bool]


def environment_validation_fails(env: CompilerEnv) -> bool:
    """The hypothesis that the program misbehaves, or cannot be compiled."""
    return not env.validate().okay()


def bisect_trajectory(
    env: CompilerEnv,
    hypothesis: Hypothesis = environment_validation_fails,
    reverse: bool = False,
    flakiness: int = 1,
) -> Iterator[CompilerEnv]:
    """Removes actions from the end, by a binary search.

    Tests the hypothesis a logarithmic number of times. The result is the shortest prefix, if the
    hypothesis keeps holding with more actions once it holds.

    Args:
        env: The environment. There has to be an episode.
        hypothesis: What is to hold; called with the environment.
        reverse: Remove actions from the beginning instead.
        flakiness: The number of tests before a hypothesis counts as false, for flaky ones.

    Raises:
        MinimizationError: If the hypothesis does not hold to begin with.
    """
    trajectory = _Trajectory(env, hypothesis, flakiness)
    actions = trajectory.actions

    def part(length: int) -> list[Any]:
        return actions[len(actions) - length :] if reverse else actions[:length]

    too_few, enough = -1, len(actions)
    while enough - too_few > 1:
        length = (too_few + enough) // 2
        if trajectory.try_actions(part(length)):
            enough = length
            yield env
        else:
            too_few = length
    trajectory.restore()


def random_minimization(
    env: CompilerEnv,
    hypothesis: Hypothesis = environment_validation_fails,
    init_discard_ratio: float = 0.75,
    discard_ratio_decay: float = 0.75,
    flakiness: int = 1,
    rng: np.random.Generator | None = None,
) -> Iterator[CompilerEnv]:
    """Removes random actions, many at once at first, then fewer.

    It ends when removing single random actions has failed as often as there are actions. It suits
    long lists with few relevant actions.

    Args:
        env: The environment. There has to be an episode.
        hypothesis: What is to hold; called with the environment.
        init_discard_ratio: The share of the actions to remove at first.
        discard_ratio_decay: The factor for this share after a failure.
        flakiness: Same as in :func:`bisect_trajectory`.
        rng: Chooses the actions.

    Raises:
        MinimizationError: If the hypothesis does not hold to begin with.
        ValueError: If a ratio is not between 0 and 1.
    """
    if not (0 < init_discard_ratio <= 1 and 0 < discard_ratio_decay < 1):
        raise ValueError(
            f"The ratios {init_discard_ratio} and {discard_ratio_decay} are to be between 0 and 1"
        )
    rng = np.random.default_rng() if rng is None else rng
    trajectory = _Trajectory(env, hypothesis, flakiness)
    ratio, failures = init_discard_ratio, 0
    while trajectory.actions and failures < len(trajectory.actions):
        actions = trajectory.actions
        discarded = max(1, int(len(actions) * ratio))
        kept = sorted(rng.choice(len(actions), len(actions) - discarded, replace=False))
        if trajectory.try_actions([actions[i] for i in kept]):
            failures = 0
            yield env
        else:
            failures += discarded == 1
            ratio *= discard_ratio_decay
    trajectory.restore()


def minimize_trajectory_iteratively(
    env: CompilerEnv,
    hypothesis: Hypothesis = environment_validation_fails,
    flakiness: int = 1,
) -> Iterator[CompilerEnv]:
    """Removes actions until no single one of the rest can be removed.

    Tries long pieces first; see :func:`compiler_gym.util.sequence_reducer.reduce_sequence`.

    Args:
        env: The environment. There has to be an episode.
        hypothesis: What is to hold; called with the environment.
        flakiness: Same as in :func:`bisect_trajectory`.

    Raises:
        MinimizationError: If the hypothesis does not hold to begin with.
    """
    trajectory = _Trajectory(env, hypothesis, flakiness)
    for _ in reductions(trajectory.actions, trajectory.try_actions):
        yield env
    trajectory.restore()


class _Trajectory:
    """The shortest list of actions so far.

    Attributes:
        actions: The actions, with which the hypothesis holds.
    """

    def __init__(self, env: CompilerEnv, hypothesis: Hypothesis, flakiness: int):
        self._env = env
        self._hypothesis = hypothesis
        self._flakiness = flakiness
        self._benchmark = env.benchmark
        self.actions = list(env.actions)
        if not self._holds():
            raise MinimizationError(
                f"The hypothesis does not hold after the {len(self.actions)} actions of the "
                "episode, so there is nothing to minimise"
            )

    def try_actions(self, actions: list[Any]) -> bool:
        """Returns true if the hypothesis holds after a list of actions, and keeps them."""
        self._apply(actions)
        if not self._holds():
            return False
        self.actions = actions
        return True

    def restore(self) -> None:
        """Brings the environment into the state after the shortest list."""
        if list(self._env.actions) != self.actions:
            self._apply(self.actions)

    def _apply(self, actions: list[Any]) -> None:
        self._env.reset(benchmark=self._benchmark)
        if actions:
            self._env.multistep(actions)

    def _holds(self) -> bool:
        return any(self._hypothesis(self._env) for _ in range(self._flakiness))
