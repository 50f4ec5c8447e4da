"""Programs as the trainers of vocabularies read them: statements, flows and triplets."""

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from compiler_gym.datasets.selection import opensource_package
from compiler_gym.envs.llvm.inst2vec import Inst2vecEncoder
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

STATES = ("source", "random", "optimised")
"""The states of each program: before any pass, after random passes, and after a shipped policy."""

Triplet = tuple[int, int, int]
"""Head, tail and relation, in the numbering of ``llvm-ir2vec``."""

_RANDOM_PASSES = 30
_POLICY = "sequence"
# Kinds of nodes and of edges in ProgramlArrays.
_VARIABLE = 1
_CONTROL, _DATA = 0, 1
_TOOL_SECONDS = 300
_TYPE_RELATION = "\t0"
# The type, the next opcode, and eight arguments.
_RELATIONS = 2 + 8
_COMPARISON = re.compile(r"<%ID> = ([if]cmp) (.*)")


@dataclass(frozen=True, eq=False)
class Observation:
    """A program in one of the :data:`STATES`.

    Attributes:
        program: The URI of the program.
        state: One of the :data:`STATES`.
        statements: The statement of each instruction.
        flows: int32[2, m], see :func:`flows_of`.
        triplets: See :func:`triplets_of`.
    """

    program: str
    state: str
    statements: list[str]
    flows: np.ndarray
    triplets: Counter[Triplet]


class Observer:
    """Observes programs in all of the :data:`STATES`. Threads may share an observer.

    Args:
        largest: The most instructions. Programs are left out while they have more.
        seed: Seeds the random passes.
    """

    def __init__(self, largest: int, seed: int):
        self._largest = largest
        self._seed = seed
        self._encoder = Inst2vecEncoder()
        (self._sequence,) = Policy.load(_POLICY).sequences

    def observe(self, env: LlvmEnv, uri: str) -> list[Observation]:
        """Returns the observations of a program.

        Args:
            env: An LLVM environment with the default actions.
            uri: The program.

        Raises:
            BenchmarkInitError: The program cannot be compiled.
            ServiceError: It cannot be observed.
        """
        rng = random.Random(f"{self._seed} {uri}")
        drawn = rng.choices(env.action_space.names, k=_RANDOM_PASSES)
        observations = []
        for state, passes in zip(STATES, ((), drawn, self._sequence), strict=True):
            env.reset(benchmark=uri)
            done = bool(passes) and env.multistep([env.action_space[name] for name in passes])[2]
            # A compiler that fails in a random pass is no reason to lose the other states.
            if not done and env.observation["IrInstructionCount"] <= self._largest:
                observations.append(self._observe_state(env, uri, state))
        return observations

    def _observe_state(self, env: LlvmEnv, uri: str, state: str) -> Observation:
        packed, graph = env.observation.observe(("Inst2vecPacked", "ProgramlArrays"))
        statements = self._encoder.unpack(packed)
        flows = flows_of(graph)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            bitcode = env.write_bitcode(Path(folder) / "program.bc")
            triplets = triplets_of(bitcode, statements, entity_names())
        return Observation(uri, state, statements, flows, triplets)


@dataclass(frozen=True, eq=False)
class Sample:
    """An observation as a corpus keeps it.

    Attributes:
        program, state, flows: Those of the observation.
        statements: int32[n], the number of the statement of each instruction.
    """

    program: str
    state: str
    statements: np.ndarray
    flows: np.ndarray


class Corpus:
    """The statements and triplets of many programs."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.samples: list[Sample] = []
        self.triplets: Counter[Triplet] = Counter()

    @property
    def statements(self) -> list[str]:
        """The different statements by their numbers."""
        return list(self._numbers)

    @property
    def programs(self) -> list[str]:
        """The URIs of the programs that have samples."""
        return list(dict.fromkeys(sample.program for sample in self.samples))

    def in_state(self, state: str) -> list[Sample]:
        """Returns the samples of a state."""
        return [sample for sample in self.samples if sample.state == state]

    def add(self, seen: Observation) -> None:
        """Adds an observation."""
        numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in seen.statements]
        statements = np.array(numbers, dtype=np.int32)
        self.samples.append(Sample(seen.program, seen.state, statements, seen.flows))
        self.triplets.update(seen.triplets)


def flows_of(graph: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns the flows of control and data between instructions.

    Args:
        graph: A value of ``ProgramlArrays``.

    Returns:
        int32[2, flows]: pairs of instructions. The second may run after the first, or uses its
        result. The first instruction of the program is 0.
    """
    types = graph["node_type"]
    flow, source, target = (graph[f"edge_{name}"] for name in ("flow", "source", "target"))
    is_control = flow == _CONTROL
    control = np.stack([source[is_control], target[is_control]])
    is_data = flow == _DATA
    is_result = is_data & (types[target] == _VARIABLE)
    origin = np.zeros(len(types), dtype=np.int64)
    origin[target[is_result]] = source[is_result]
    is_use = is_data & (types[source] == _VARIABLE)
    data = np.stack([origin[source[is_use]], target[is_use]])
    # Arguments of functions have no instruction; node 0 is code outside of the program.
    flows = np.concatenate([control, data[:, data[0] > 0]], axis=1) - 1
    return flows.astype(np.int32)


def triplets_of(bitcode: Path, statements: Sequence[str], names: Sequence[str]) -> Counter[Triplet]:
    """Returns the triplets in a program, by the tool of LLVM.

    The tool has no triplets of predicates. A comparison counts as its opcode, and again as its
    predicate.

    Args:
        bitcode: The program.
        statements: One for each of its instructions.
        names: The names of entities.

    Raises:
        OSError, subprocess.SubprocessError: The tool cannot be run, or fails.
        ValueError: The statements are those of another program.
    """
    lines = [line for line in _run_tool("triplets", bitcode).splitlines() if line[:1].isdigit()]
    predicates = _predicates(statements, names)
    counts = Counter(lines)
    triplets: Counter[Triplet] = Counter()
    for line, count in counts.items():
        head, tail, relation = map(int, line.split())
        triplets[head, tail, relation] = count
    instruction = -1
    for line in lines:
        # The type comes first, and every instruction has one.
        instruction += line.endswith(_TYPE_RELATION)
        if (predicate := predicates.get(instruction)) is not None:
            _, tail, relation = map(int, line.split())
            triplets[predicate, tail, relation] += 1
    if instruction + 1 != len(statements):
        raise ValueError(f"expected {len(statements)} instructions, got {instruction + 1}")
    return triplets


def _predicates(statements: Sequence[str], names: Sequence[str]) -> dict[int, int]:
    """Returns the entity of the predicate of each comparison, by instruction."""
    numbers = {name: number for number, name in enumerate(names)}
    found = {}
    for index, statement in enumerate(statements):
        if match := _COMPARISON.match(statement):
            # Flags may precede the predicate.
            words = (f"{match[1].upper()}_{word}" for word in match[2].split())
            found[index] = next(numbers[word] for word in words if word in numbers)
    return found


@cache
def entity_names() -> tuple[str, ...]:
    """Returns the names that the numbers in triplets stand for.

    Raises:
        OSError, subprocess.SubprocessError: The tool of LLVM cannot be run, or fails.
    """
    pairs = [line.split() for line in _run_tool("entities").splitlines()[1:]]
    return tuple(name for name, _ in sorted(pairs, key=lambda pair: int(pair[1])))


def _run_tool(*words: str | Path) -> str:
    tool = llvm_tools.opt_path().with_name("llvm-ir2vec")
    printed: str = run_command([tool, *words, "-o", "-"], _TOOL_SECONDS).stdout
    return printed


def share_known(samples: Iterable[Sample], is_known: np.ndarray) -> float:
    """Returns the share of instructions with a known statement.

    Args:
        samples: Programs.
        is_known: bool[statements of the corpus].
    """
    numbers = np.concatenate([np.zeros(0, dtype=np.int32), *(each.statements for each in samples)])
    return float(is_known[numbers].mean()) if numbers.size else 0.0


def frequent_statements(corpus: Corpus, occurrences: int, packages: int) -> list[str]:
    """Returns the statements of a vocabulary, the most frequent first.

    Args:
        corpus: Programs of ``opensource-v0``.
        occurrences: The least number of instructions with a statement.
        packages: The least number of packages with a statement. Structures of one package are of
            no use for others.
    """
    statements = corpus.statements
    counts = np.zeros(len(statements), dtype=np.int64)
    found_in: dict[str, np.ndarray] = {}
    for sample in corpus.samples:
        counts += np.bincount(sample.statements, minlength=len(counts))
        met = found_in.setdefault(
            opensource_package(sample.program), np.zeros(len(counts), dtype=bool)
        )
        met[sample.statements] = True
    spread = np.sum(list(found_in.values()), axis=0)
    chosen = np.flatnonzero((counts >= occurrences) & (spread >= packages))
    return [
        statements[each] for each in sorted(chosen, key=lambda it: (-counts[it], statements[it]))
    ]


def usual_triplets(triplets: Counter[Triplet], least: float) -> list[Triplet]:
    """Returns the triplets that are at least that share of those with the same head and relation.

    Nearly everything happens once in a large corpus, so rare triplets tell little. Arguments after
    the eighth are left out.
    """
    totals: Counter[tuple[int, int]] = Counter()
    for (head, _, relation), count in triplets.items():
        totals[head, relation] += count
    return sorted(
        (head, tail, relation)
        for (head, tail, relation), count in triplets.items()
        if count >= least * totals[head, relation] and relation < _RELATIONS
    )
