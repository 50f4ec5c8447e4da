"""One method on one program, as a task of a pool."""

import json
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from compiler_gym.cli.search_state import COSTS, Budget, Game
from compiler_gym.cli.sequence_search import find, measure_baselines, prove, write
from compiler_gym.cli.sequence_trials import PASS_SPACE, Trials
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, digest_of, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.tuning.policies.policy import LEVEL_SPACE, Policy, level_costs

_FORMAT = 1

SEARCH, POLICY, SEQUENCES = "search", "policy", "sequences"
"""The kinds of methods."""

KEY = "attempt"
"""The column with the name of a row's task."""

_GOAL = "instructions"
_COST = COSTS[_GOAL][0]


@dataclass(frozen=True)
class Method:
    """A method that competes.

    Attributes:
        name: Its name in tables.
        kind: One of :data:`SEARCH`, :data:`POLICY`, :data:`SEQUENCES`.
        file: The file of a policy, or the JSON of sequences: a list of the action space and the
            names of the actions of each.
        tries: The most tries. The number of tries of a policy is its own.
    """

    name: str
    kind: str
    file: bytes
    tries: int


@dataclass(frozen=True)
class Attempt:
    """One method on one program.

    Attributes:
        program: The URI of the program.
        set: The name of the set that the program is from.
        message: The hash of the message for the service, which is data of the job.
        method: The name of the method.
        kind: Its kind.
        file: The hash of its file, which is data of the job; empty if it has none.
        tries: The most tries.
        llvm_only: Whether a search uses no pass of this project.
        seed: The seed of a search.
        llvm: The version of LLVM.
    """

    program: str
    set: str
    message: str
    method: str
    kind: str
    file: str
    tries: int
    llvm_only: bool
    seed: int
    llvm: int

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({KEY: _FORMAT, **asdict(self)})

    @classmethod
    def job(cls, program: Program, set: str, method: Method, **settings: Any) -> Job:
        """Returns an attempt with its data.

        Args:
            program: The program.
            set: The name of its set.
            method: The method.
            **settings: The other attributes.
        """
        blobs = {program.message: program.data}
        file = ""
        if method.file:
            file = digest_of(method.file)
            blobs[file] = method.file
        names: dict[str, Any] = {"method": method.name, "kind": method.kind, "tries": method.tries}
        task = cls(program.uri, set, program.message, file=file, **names, **settings)
        return Job(task, blobs)

    def run(self, worker: Worker) -> dict[str, Any]:
        """Runs the method, and lets the real ``opt`` repeat its result.

        Returns:
            A row of the table: the attributes; IR instructions ``O0``, ``Oz``, ``marked_Oz`` and
            ``best``; bytes of code ``code`` and ``code_Oz``, None if there is no code; the
            ``curve``, which has tries, seconds and instructions of each improvement; the ``pace``,
            which has tries and seconds; ``tries``, ``seconds``, ``commandline``; and ``opt``, which
            is "identical" if ``opt`` has made the same bytes.

        Raises:
            ServiceError: If the program cannot be compiled.
            ValueError: If the result is another when it is repeated.
        """
        env = worker.env("llvm-v0", {})
        env.reset(benchmark=worker.program(self.message), action_space=PASS_SPACE)
        game = Game(self.program, _GOAL)
        began = time.monotonic()
        if self.kind == SEARCH:
            budget = Budget(tries=self.tries, llvm_only=self.llvm_only)
            find(env, game, worker.stop, budget, self.seed)
        elif self.kind == POLICY:
            play_policy(env, game, Policy.from_json(worker.blob(self.file)))
        else:
            play_sequences(env, game, json.loads(worker.blob(self.file)), worker.stop)
        seconds = time.monotonic() - began
        claimed = game.costs[_GOAL]["best"]
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            write(env, game, Path(folder))
            prove(game)
        costs, code = (game.costs[name] for name in ("instructions", "bytes"))
        if costs["best"] != claimed:
            raise ValueError(f"expected {claimed} instructions again, got {costs['best']}")
        return {
            KEY: self.name,
            **asdict(self),
            **{name: costs[name] for name in ("O0", "Oz", "best")},
            "marked_Oz": costs.get("marked_Oz", costs["Oz"]),
            "code": code.get("best"),
            "code_Oz": code.get("Oz"),
            "curve": game.curve,
            "pace": game.pace,
            "tries": game.tries,
            "seconds": round(seconds, 3),
            "commandline": game.commandline,
            "opt": game.proof,
        }


def play_policy(env: LlvmEnv, game: Game, policy: Policy) -> None:
    """Plays an episode of a policy. A try is a program whose cost is looked at.

    Args:
        env: An environment whose episode with :data:`PASS_SPACE` has just begun. Its next episode
            has the action space of the result.
        game: Gets the result.
        policy: The policy.
    """
    measure_baselines(env, game)
    began = time.monotonic()
    levels = level_costs(env) if policy.levels else {}
    for cost in levels.values():
        _note(game, began, cost)
    choice = policy.play(env, levels)
    _note(game, began, choice.cost, 1 if policy.network else len(policy.sequences))
    env.reset(action_space=LEVEL_SPACE if choice.sequence in levels else PASS_SPACE)
    game.actions = [env.action_space[name] for name in choice.sequence]


def play_sequences(
    env: LlvmEnv, game: Game, sequences: Sequence[Any], stop: threading.Event
) -> None:
    """Tries sequences in order, each from the program without passes.

    Args:
        env: An environment whose episode has just begun. Its next episode has the action space of
            the result.
        game: Gets the result.
        sequences: The action space and the names of the actions of each.
        stop: Ends it early.
    """
    measure_baselines(env, game)
    began = time.monotonic()
    best = PASS_SPACE
    with ExitStack() as stack:
        trials: dict[str, Trials] = {}
        for space, names in sequences:
            if stop.is_set():
                break
            if space not in trials:
                trials[space] = stack.enter_context(closing(Trials(env, space, _COST)))
            actions = [trials[space].space[name] for name in names]
            cost = trials[space].attempt(actions).cost
            if _note(game, began, cost):
                best, game.actions = space, actions
    env.reset(action_space=best)


def _note(game: Game, began: float, cost: int | None, tries: int = 1) -> bool:
    """Counts tries and the lowest cost of them. Returns whether it is the best so far."""
    seconds = game.count_try(began, tries)
    costs = game.costs[_GOAL]
    best = costs.setdefault("best", costs["O0"])
    if cost is None or cost >= best:
        return False
    costs["best"] = cost
    game.curve.append((game.tries, seconds, cost))
    return True
