"""Policies that are judged."""

import sys
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.zero_shot.task import PASSES
from compiler_gym.envs import CompilerEnv
from compiler_gym.util.runfiles_path import runfiles_path

sys.path.insert(0, str(runfiles_path("examples")))

import greedy_search


class Trained:
    """A network as a policy, with the interface of a model of Stable-Baselines3.

    Args:
        layers: The weights of ``examples/ppo.py``.
        seed: Seeds the actions that are drawn.
    """

    def __init__(self, layers: Iterable[Sequence[np.ndarray]], seed: int = 0):
        self._layers = [tuple(np.asarray(part, np.float64) for part in each) for each in layers]
        self._rng = np.random.default_rng(seed)

    def predict(self, observation: np.ndarray, deterministic: bool = False) -> tuple[int, None]:
        """Returns a drawn action, or the likeliest."""
        outputs = inputs = observation
        for weights, biases in self._layers:
            outputs = inputs @ weights + biases
            inputs = np.tanh(outputs)
        logs = outputs[1:]
        noise = 0 if deterministic else self._rng.gumbel(size=logs.shape)
        return int(np.argmax(logs + noise)), None


class Uniform:
    """A policy that draws every action with the same probability.

    Args:
        actions: The number of actions.
        seed: Seeds the actions.
    """

    def __init__(self, actions: int, seed: int):
        self._actions = actions
        self._rng = np.random.default_rng(seed)

    def predict(self, observation: np.ndarray, deterministic: bool = False) -> tuple[int, None]:
        """Returns an action."""
        return int(self._rng.integers(self._actions)), None


class Fixed:
    """A policy that takes the same actions in each episode.

    Args:
        actions: The actions. After them, the last one is repeated.
    """

    def __init__(self, actions: Sequence[int]):
        self._actions = actions
        self._position = 0

    def set_random_seed(self, seed: int) -> None:
        """Starts an episode."""
        self._position = 0

    def predict(self, observation: np.ndarray, deterministic: bool = False) -> tuple[int, None]:
        """Returns the next action."""
        self._position += 1
        return self._actions[min(self._position, len(self._actions)) - 1], None


class Greedy:
    """A policy that tries all passes on copies of the program in each step.

    It takes the best, until none makes the program smaller.

    Attributes:
        passes_run: The number of passes that it has tried.
    """

    def __init__(self) -> None:
        self.passes_run = 0

    def play(self, env: CompilerEnv) -> None:
        """Plays an episode."""
        for _ in range(PASSES):
            action, _ = greedy_search.best_action(env)
            self.passes_run += int(env.action_space.n)
            if action is None:
                return
            env.step(action)
