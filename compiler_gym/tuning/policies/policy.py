"""Policies as files: sequences of passes, and how to choose among them."""

import json
import random
import textwrap
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.envs.workbench import fork_at
from compiler_gym.tuning.policies.shipped import SHIPPED
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.registration import make

# A small network that chooses a sequence of passes for a program.
#
# It has one hidden layer. For each sequence, it predicts the logarithm of the IR instructions that
# are left, minus the mean over all sequences.

FEATURES = ("Autophase", "InstCountNorm", "IrInstructionCount")
"""The observations before the first pass that the network uses."""

_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


def features_of(env: LlvmEnv) -> np.ndarray:
    """Returns the network's features of the program of an episode.

    Returns:
        float64 [features]: Autophase by the number of instructions, the shares of kinds of
        instructions, and the logarithm of the number of instructions.
    """
    autophase, shares, count = env.observation.observe(FEATURES)
    instructions = np.maximum(autophase[_TOTAL], 1)
    return np.concatenate([autophase / instructions, shares, [np.log1p(float(count))]])


@dataclass(frozen=True)
class Network:
    """A network with one hidden layer.

    Attributes:
        mean: float64 [features], subtracted from the features.
        scale: float64 [features], the divisors of the result.
        hidden: float64 [features + 1, units], the weights of the hidden layer, with the bias last.
        output: float64 [units + 1, sequences], the weights of the output layer, with the bias last.
    """

    mean: np.ndarray
    scale: np.ndarray
    hidden: np.ndarray
    output: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Returns float64 [..., sequences] for features float64 [..., features]."""
        units = np.tanh(normalised(features, self.mean, self.scale) @ self.hidden)
        return with_one(units) @ self.output


def normalised(features: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Returns the input of the hidden layer: float64 [..., features + 1]."""
    # Limits the features of unusual programs to five standard deviations.
    return with_one(np.clip((features - mean) / scale, -5, 5))


def with_one(values: np.ndarray) -> np.ndarray:
    """Appends a column of ones for the bias: float64 [..., n + 1] for float64 [..., n]."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)


COST = "IrInstructionCount"

_FLAGS = ("continues", "levels")
_DIGITS = 5
_REASON_WIDTH = 200


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


@dataclass(frozen=True)
class Choice:
    """The actions that a policy chose for a program, and their result.

    Attributes:
        cost: The number of IR instructions left.
        sequence: The names of the passes that lead there, or a level. Empty if none
            makes the program smaller.
        tried: The number of actions that were run to find it.
    """

    cost: int
    sequence: tuple[str, ...]
    tried: int


@dataclass(frozen=True)
class Policy:
    """Sequences of passes that are good for many programs.

    Without a network, all of them are tried, and with one only its choice. The result is the
    program after the pass with which it was smallest. If sequences continue from each other, each
    is kept as a whole, or undone.

    Attributes:
        sequences: The names of the passes of each sequence, the most useful sequence first.
        about: A description of their training.
        network: Chooses among the sequences.
        continues: Whether each sequence continues from the best program so far, and is undone if
            it makes that larger. Otherwise each begins with the program without any pass.
        levels: Whether the levels of ``opt`` are tried too, so that none of them leaves less.
            All shipped policies do so.
    """

    sequences: tuple[tuple[str, ...], ...]
    about: dict[str, Any]
    network: Network | None = None
    continues: bool = False
    levels: bool = False

    @classmethod
    def load(cls, name: str | Path) -> "Policy":
        """Reads a policy.

        Args:
            name: One of :data:`SHIPPED`, or a file.

        Raises:
            OSError: If there is no such file.
            ValueError: If the file is not a policy.
        """
        path = SHIPPED.get(str(name), Path(name))
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no file {path}, and no policy of that name: {', '.join(SHIPPED)}"
            )
        try:
            return cls.from_json(path.read_bytes())
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The repr of a UnicodeDecodeError would have the whole file.
            reason = textwrap.shorten(f"{type(error).__name__}: {error}", _REASON_WIDTH)
            raise ValueError(
                f"expected a policy, JSON with the keys 'about' and 'sequences', got {path} "
                f"({reason}); try one of {', '.join(SHIPPED)}"
            ) from error

    @classmethod
    def from_json(cls, data: bytes) -> "Policy":
        """Parses the contents of a policy's file.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: If they are not a policy.
        """
        facts = json.loads(data.decode())
        sequences = tuple(tuple(each.split()) for each in facts["sequences"])
        weights = facts.get("network")
        network = weights and Network(**{key: np.array(it) for key, it in weights.items()})
        flags = (bool(facts.get(key, False)) for key in _FLAGS)
        return cls(sequences, facts["about"], network, *flags)

    def save(self, path: Path) -> None:
        """Writes the policy to a file."""
        facts: dict[str, Any] = {
            "about": self.about,
            "sequences": [" ".join(each) for each in self.sequences],
        }
        facts |= {key: True for key in _FLAGS if getattr(self, key)}
        if self.network:
            facts["network"] = {
                key: np.vectorize(_rounded)(value).tolist()
                for key, value in vars(self.network).items()
            }
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            json.dump(facts, file, indent=None if self.network else 1)
            file.write("\n")

    def sequences_for(self, bitcode: Path | None) -> tuple[tuple[str, ...], ...]:
        """Returns the sequences to try on a program: all, the choice of the network, or the pieces.

        Args:
            bitcode: The program. None if it is unknown: only the most useful sequence is then
                returned if the policy looks at programs.

        Raises:
            ServiceError: If the bitcode cannot be read.
        """
        if self.network is None and not self.continues:
            return self.sequences
        if bitcode is None:
            return self.sequences[:1]
        with make("llvm-v0", benchmark=f"file://{bitcode}") as env:
            assert isinstance(env, LlvmEnv)
            env.reset()
            if self.network is not None:
                return self._choice_of(self.network, env)
            chosen = self.play_passes(env).sequence
            return (chosen,) if chosen else ()

    def _choice_of(self, network: Network, env: LlvmEnv) -> tuple[tuple[str, ...], ...]:
        """Returns the network's choice for the program of an episode that has just begun."""
        return (self.sequences[int(network.predict(features_of(env)).argmin())],)

    def play(self, env: LlvmEnv, levels: "LevelCosts | None" = None) -> Choice:
        """Plays an episode of an environment, after a reset.

        If a level is best, the episode has the actions of the space ``Pipelines``. The next episode
        has those of before again.

        Args:
            env: The environment.
            levels: The result of :func:`level_costs` for the program, if it is known.

        Raises:
            LookupError: If there is no such pass.
            ServiceError: If the program cannot be compiled at all.
        """
        if not self.levels:
            return self.play_passes(env)
        levels = level_costs(env) if levels is None else levels
        choice = self.play_passes(env)
        choice = replace(choice, tried=choice.tried + sum(map(len, levels)))
        best = min(levels, key=lambda level: levels[level], default=())
        if not best or levels[best] >= choice.cost:
            return choice
        _run_level(env, best)
        return replace(choice, cost=levels[best], sequence=best)

    def play_passes(self, env: LlvmEnv) -> Choice:
        """Plays an episode as :meth:`play` does, without levels."""
        sequences = self.sequences
        if self.continues:
            env.reset(benchmark=env.benchmark)
            cost, sequence = continued(env, sequences)
            return self._chosen(env, cost, sequence, sequences)
        if self.network is not None:
            env.reset(benchmark=env.benchmark)
            sequences = self._choice_of(self.network, env)
        costs = [costs_of(env, sequence) for sequence in sequences]
        best = min(range(len(sequences)), key=lambda number: min(costs[number]))
        cost = min(costs[best])
        env.reset(benchmark=env.benchmark)
        return self._chosen(env, cost, sequences[best][: costs[best].index(cost)], sequences)

    @staticmethod
    def _chosen(
        env: LlvmEnv, cost: int, sequence: tuple[str, ...], tried: tuple[tuple[str, ...], ...]
    ) -> Choice:
        """Runs the passes that were chosen in an episode that has just begun."""
        if sequence:
            env.multistep([env.action_space[name] for name in sequence])
        return Choice(cost, sequence, sum(map(len, tried)))


def run_passes(env: LlvmEnv, sequence: Sequence[str]) -> int | None:
    """Runs passes in an episode.

    Returns:
        The number of IR instructions after them. None if the compiler failed.

    Raises:
        LookupError: If there is no such pass.
    """
    actions = [env.action_space[name] for name in sequence]
    (cost,), _, done, _ = env.multistep(actions, observation_spaces=[COST])
    return None if done else int(cost)


def continued(
    env: LlvmEnv,
    sequences: Sequence[Sequence[str]],
    run: Callable[[LlvmEnv, Sequence[str]], int | None] = run_passes,
) -> tuple[int, tuple[str, ...]]:
    """Tries sequences on copies of an episode, each on the best program so far.

    Args:
        env: The environment, which stays as it is.
        sequences: The names of the passes of each sequence.
        run: Runs a sequence as :func:`run_passes` does.

    Returns:
        The number of IR instructions of the best program, and the passes that lead there.

    Raises:
        LookupError: If there is no such pass.
    """
    cost = int(env.observation[COST])
    kept: list[str] = []
    best = env.fork()
    try:
        for sequence in sequences:
            other = best.fork()
            try:
                result = run(other, sequence)
                if result is not None and result <= cost:
                    best, other, cost = other, best, result
                    kept += sequence
            finally:
                other.close()
    finally:
        best.close()
    return cost, tuple(kept)


# The levels of opt, which are the first candidates and the floor.

LEVEL_SPACE = "Pipelines"
"""The action space of levels."""

_MARK = "mark-for-size<Oz>"


@dataclass(frozen=True)
class Levels:
    """The first candidates for a program, as actions of the space ``Pipelines``.

    Attributes:
        marked_oz: The level ``-Oz`` after marking every function, as ``clang -Oz`` does.
        all: The levels ``-Os`` and ``-Oz``, with and without marks. The best of them on most
            programs is first.
    """

    marked_oz: tuple[str, ...]
    all: tuple[tuple[str, ...], ...]

    @classmethod
    def among(cls, names: Container[str]) -> "Levels":
        """Returns those of the LLVM whose space has actions with these names."""
        o_z, o_s = "default<Oz>", "default<Os>"
        if o_z not in names:  # LLVM 23 has only marks for size.
            o_z, o_s = "mark-for-size<Oz>,default<O2>", "mark-for-size<Os>,default<O2>"
        marked_oz = (_MARK, o_z)
        return cls(marked_oz, ((_MARK, o_s), marked_oz, (o_z,), (o_s,)))

    @classmethod
    def of(cls, env: LlvmEnv) -> "Levels":
        """Returns those of the LLVM of an environment."""
        return cls.among(next(each for each in env.action_spaces if each.name == LEVEL_SPACE).names)


LevelCosts = Mapping[tuple[str, ...], int]
"""The number of IR instructions after each level, without those that fail."""


def level_costs(env: LlvmEnv) -> LevelCosts:
    """Tries the levels on the program of an episode, which stays as it is.

    Raises:
        ServiceError: If the program cannot be compiled at all.
    """
    with fork_at(env, action_space=LEVEL_SPACE) as start:
        levels = Levels.among(start.action_space.names).all
        costs = {level: cost_after(start, level) for level in levels}
    return {level: cost for level, cost in costs.items() if cost is not None}


def _run_level(env: LlvmEnv, level: Sequence[str]) -> None:
    """Plays an episode of a level, and selects the former action space for the next one."""
    space = env.action_space
    env.reset(benchmark=env.benchmark, action_space=LEVEL_SPACE)
    env.multistep([env.action_space[name] for name in level])
    with warnings.catch_warnings():
        # The episode keeps its own action space, which is the purpose.
        warnings.simplefilter("ignore")
        env.action_space = space


def cost_after(env: LlvmEnv, sequence: Sequence[str]) -> int | None:
    """Runs passes on a copy of an episode.

    Returns:
        The number of IR instructions after them. None if the compiler failed.

    Raises:
        LookupError: If there is no such pass.
    """
    with env.fork() as copy:
        return run_passes(copy, sequence)


def costs_of(env: LlvmEnv, sequence: tuple[str, ...]) -> list[int]:
    """Resets the environment, and runs each pass as a step.

    Returns:
        The number of IR instructions before the first pass, and after each. The list ends where the
        compiler failed.

    Raises:
        LookupError: If there is no such pass.
        ServiceError: If the program cannot be compiled at all.
    """
    env.reset(benchmark=env.benchmark)
    costs = [int(env.observation[COST])]
    for name in sequence:
        (cost,), _, done, _ = env.step(env.action_space[name], observation_spaces=[COST])
        if done:
            break
        costs.append(int(cost))
    return costs


# The sequence that searches start with, and the edits that they make.

FIRST_SEQUENCE = (
    "sroa", "early-cse", "simplifycfg", "instcombine", "ipsccp", "globalopt", "deadargelim",
    "function-attrs", "argpromotion", "sroa", "early-cse", "correlated-propagation",
    "simplifycfg", "instcombine", "tailcallelim", "reassociate", "loop-simplifycfg", "licm",
    "indvars", "loop-idiom", "loop-deletion", "gvn", "sccp", "bdce", "instcombine", "dse", "adce",
    "simplifycfg", "instcombine", "globaldce", "constmerge", "mergefunc",
)  # fmt: skip
"""Passes that clean up after each other, in the order of most pipelines. Inlining is left to the
search, because it makes most programs larger."""


def mutate(actions: list[int], n_actions: int, rng: random.Random) -> list[int]:
    """Returns a copy of a sequence with one to three random edits."""
    actions = list(actions)
    for _ in range(rng.randint(1, 3)):
        position = rng.randrange(len(actions) + 1)
        edit = rng.random()
        if edit < 0.45 or not actions:
            actions.insert(position, rng.randrange(n_actions))
        elif edit < 0.65:
            actions[position % len(actions)] = rng.randrange(n_actions)
        elif edit < 0.85:
            del actions[position % len(actions)]
        else:
            actions.insert(position, actions.pop(rng.randrange(len(actions))))
    return actions
