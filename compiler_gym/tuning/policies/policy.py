"""Policies as files: sequences of passes, and a network that chooses among them."""

import json
import random
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.registration import make

# A small network that looks at a program, and says which sequence of passes to run on it.
#
# It has one hidden layer. What it predicts of each sequence is the logarithm of the IR instructions
# that the sequence leaves, less the mean of that over all sequences.

FEATURES = ("Autophase", "InstCountNorm", "IrInstructionCount")
"""The observations before the first pass that it looks at."""

_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


def features_of(env: LlvmEnv) -> np.ndarray:
    """Returns what the network sees of the program of an episode.

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
        mean: float64 [features], what is taken from the features.
        scale: float64 [features], what they are divided by then.
        hidden: float64 [features + 1, units], the weights of the hidden layer; the last are added.
        output: float64 [units + 1, sequences], those of the output.
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
    """Returns what the hidden layer is given: float64 [..., features + 1]."""
    # Nothing of a program that is unlike all others is worth more than five deviations.
    return with_one(np.clip((features - mean) / scale, -5, 5))


def with_one(values: np.ndarray) -> np.ndarray:
    """Returns float64 [..., n + 1] for float64 [..., n]: ones, for the weights that are added."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)


COST = "IrInstructionCount"

SHIPPED = {
    name: Path(__file__).parent / f"{name}.json" for name in ("sequence", "coreset", "network")
}
"""The policies that come with the package."""

_DIGITS = 5
_REASON_WIDTH = 200


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


@dataclass(frozen=True)
class Choice:
    """The actions that a policy chose for a program, and their result.

    Attributes:
        cost: The number of IR instructions that is left.
        sequence: The names of the passes that lead there. None where nothing makes it smaller.
        tried: How many passes were run to find that out.
    """

    cost: int
    sequence: tuple[str, ...]
    tried: int


@dataclass(frozen=True)
class Policy:
    """Sequences of passes that are good for many programs.

    Without a network, all of them are tried, and with one only that which it says. The program is
    left as it is after the pass with which it was smallest.

    Attributes:
        sequences: The names of the passes of each, the most useful first.
        about: How they were found.
        network: Chooses among them.
    """

    sequences: tuple[tuple[str, ...], ...]
    about: dict[str, Any]
    network: Network | None = None

    @classmethod
    def load(cls, name: str | Path) -> "Policy":
        """Reads a policy.

        Args:
            name: One of :data:`SHIPPED`, or a file.

        Raises:
            OSError: If there is no such file.
            ValueError: If there is something else in it.
        """
        path = SHIPPED.get(str(name), Path(name))
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no file {path}, and no policy of that name: {', '.join(SHIPPED)}"
            )
        try:
            return cls.from_json(path.read_bytes())
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Not the repr: that of a UnicodeDecodeError has the whole file.
            reason = textwrap.shorten(f"{type(error).__name__}: {error}", _REASON_WIDTH)
            raise ValueError(
                f"expected a policy, JSON with the keys 'about' and 'sequences', got {path} "
                f"({reason}); try one of {', '.join(SHIPPED)}"
            ) from error

    @classmethod
    def from_json(cls, data: bytes) -> "Policy":
        """Parses the contents of a policy's file.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: If they are something else.
        """
        facts = json.loads(data.decode())
        sequences = tuple(tuple(each.split()) for each in facts["sequences"])
        weights = facts.get("network")
        network = weights and Network(**{key: np.array(it) for key, it in weights.items()})
        return cls(sequences, facts["about"], network)

    def save(self, path: Path) -> None:
        """Writes it to a file."""
        facts: dict[str, Any] = {
            "about": self.about,
            "sequences": [" ".join(each) for each in self.sequences],
        }
        if self.network:
            facts["network"] = {
                key: np.vectorize(_rounded)(value).tolist()
                for key, value in vars(self.network).items()
            }
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            json.dump(facts, file, indent=None if self.network else 1)
            file.write("\n")

    def sequences_for(self, bitcode: Path | None) -> tuple[tuple[str, ...], ...]:
        """Returns the sequences that are to be tried on a program: all, or what the network says.

        Args:
            bitcode: The program. None if it is not known, which leaves the network the sequence
                that is most useful.

        Raises:
            ServiceError: If the bitcode cannot be read.
        """
        if self.network is None:
            return self.sequences
        if bitcode is None:
            return self.sequences[:1]
        with make("llvm-v0", benchmark=f"file://{bitcode}") as env:
            assert isinstance(env, LlvmEnv)
            env.reset()
            return self._choice_of(self.network, env)

    def _choice_of(self, network: Network, env: LlvmEnv) -> tuple[tuple[str, ...], ...]:
        """Returns the choice of a network for the program of an episode that has just begun."""
        return (self.sequences[int(network.predict(features_of(env)).argmin())],)

    def play(self, env: LlvmEnv) -> Choice:
        """Plays the episode of an environment, which begins again.

        Raises:
            LookupError: If there is no such pass.
            ServiceError: If the program cannot be compiled at all.
        """
        sequences = self.sequences
        if self.network is not None:
            env.reset(benchmark=env.benchmark)
            sequences = self._choice_of(self.network, env)
        costs = [costs_of(env, sequence) for sequence in sequences]
        best = min(range(len(sequences)), key=lambda number: min(costs[number]))
        cost = min(costs[best])
        sequence = sequences[best][: costs[best].index(cost)]
        env.reset(benchmark=env.benchmark)
        if sequence:
            env.multistep([env.action_space[name] for name in sequence])
        return Choice(cost, sequence, sum(map(len, sequences)))


def costs_of(env: LlvmEnv, sequence: tuple[str, ...]) -> list[int]:
    """Begins the episode again, and makes a step of each pass.

    Returns:
        The number of IR instructions before the first pass, and after each; it ends where the
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


# Sequences of passes that searches start with, and how they change them.

FIRST_SEQUENCE = (
    "sroa", "early-cse", "simplifycfg", "instcombine", "ipsccp", "globalopt", "deadargelim",
    "function-attrs", "argpromotion", "sroa", "early-cse", "correlated-propagation",
    "simplifycfg", "instcombine", "tailcallelim", "reassociate", "loop-simplifycfg", "licm",
    "indvars", "loop-idiom", "loop-deletion", "gvn", "sccp", "bdce", "instcombine", "dse", "adce",
    "simplifycfg", "instcombine", "globaldce", "constmerge", "mergefunc",
)  # fmt: skip
"""Passes that clean up after each other, in the order of most pipelines. Inlining is left to the
search, as it makes most programs larger."""


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
