"""Finds out which actions of an episode matter, e.g. which of them break the program.

Each function takes an environment in whose state a hypothesis holds, and brings it into states of
ever fewer actions in which it still holds. It yields the environment whenever it has found such a
state, and leaves it in the last. ``list(bisect_trajectory(env))`` goes to the end.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import MinimizationError
from compiler_gym.util.sequence_reducer import reductions

Hypothesis = Callable[[CompilerEnv], bool]


def environment_validation_fails(env: CompilerEnv) -> bool:
    """The hypothesis that the program does not do what it should, or cannot be compiled."""
    return not env.validate().okay()


def bisect_trajectory(
    env: CompilerEnv,
    hypothesis: Hypothesis = environment_validation_fails,
    reverse: bool = False,
    flakiness: int = 1,
) -> Iterator[CompilerEnv]:
    """Takes away the end of the actions, by a binary search.

    Asks about the logarithm of the number of actions. What is left is the least number of first
    actions if the hypothesis, once it holds, goes on to hold with more actions.

    Args:
        env: The environment. There has to be an episode.
        hypothesis: What is to hold; called with the environment.
        reverse: Take away the beginning of the actions instead.
        flakiness: How often to ask before the hypothesis is taken not to hold, for one that holds
            at times only.

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
    """Takes away random actions, many at once at first, and fewer as this fails.

    It ends once taking away one random action fails as often as there are actions. Good for a long
    list of actions of which few matter.

    Args:
        env: The environment. There has to be an episode.
        hypothesis: What is to hold; called with the environment.
        init_discard_ratio: Which share of the actions to take away at first.
        discard_ratio_decay: What this share is multiplied with after a failure.
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
    """Takes away actions until none of those that are left can be, each by itself.

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
    """The least number of actions that was found so far.

    Attributes:
        actions: These actions, with which the hypothesis holds.
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
        """Says whether the hypothesis holds after a list of actions; keeps them if so."""
        self._apply(actions)
        if not self._holds():
            return False
        self.actions = actions
        return True

    def restore(self) -> None:
        """Brings the environment into the state after the actions that were found."""
        if list(self._env.actions) != self.actions:
            self._apply(self.actions)

    def _apply(self, actions: list[Any]) -> None:
        self._env.reset(benchmark=self._benchmark)
        if actions:
            self._env.multistep(actions)

    def _holds(self) -> bool:
        return any(self._hypothesis(self._env) for _ in range(self._flakiness))
