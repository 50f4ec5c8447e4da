"""A search for sequences of LLVM passes that make a program smaller than ``-Oz`` does.

Each program is an episode, played again and again: the search begins with a sequence that was
learnt from many programs. It mutates the best sequence, compiles the program, and keeps
improvements. At the end it removes passes without effect, and the real ``opt`` proves each result.
"""

import random
import re
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.cli.failures import reason_for
from compiler_gym.cli.options import program_name
from compiler_gym.cli.pool_options import PoolProgress, command_pool
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.registration import make
from compiler_gym.util.sequence_reducer import reductions

if TYPE_CHECKING:
    from compiler_gym.datasets import Datasets
    from compiler_gym.distributed.task import Job
    from compiler_gym.distributed.worker import Worker
    from compiler_gym.envs.llvm import LlvmEnv

#: The proof of a result if ``opt`` is not installed.
NO_OPT = "not installed"

#: The sizes to reduce: the observation of each cost, and the prefix of its baselines.
COSTS = {
    "instructions": ("IrInstructionCount", "IrInstructionCount"),
    "bytes": ("ObjectTextSizeBytes", "ObjectTextSize"),
}

# The time for removing passes without effect, as a share of the search time.
_SHARE_OF_SHORTENING = 0.2

_FILE_NAME = re.compile(r"[^\w.-]+")


@dataclass
class Game:
    """The state of the search on one program.

    Attributes:
        uri: Its URI.
        goal: The cost to reduce.
        state: The current phase: "waiting", "baselines", "searching", "shortening", "proving" or
            "done".
        costs: The values of each cost after ``O0``, after ``Oz``, and at ``best``.
        tries: The number of evaluated sequences.
        actions: The best of them.
        commandline: The command line of ``opt`` that does the same.
        bitcode: The file of the optimised program, once written.
        proof: The comparison with ``opt``: "identical", "DIFFERENT" or :data:`NO_OPT`; empty
            before.
        error: Why the search failed; empty if it did not.
    """

    uri: str
    goal: str = "instructions"
    state: str = "waiting"
    costs: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in COSTS})
    tries: int = 0
    actions: list[int] = field(default_factory=list)
    commandline: str = ""
    bitcode: Path | None = None
    proof: str = ""
    error: str = ""

    def fail(self, reason: str) -> None:
        """Notes why the search failed. What was found before is kept."""
        self.state, self.error = "failed", reason

    @property
    def name(self) -> str:
        """The short name of the program."""
        return program_name(self.uri)

    @property
    def ratio(self) -> float | None:
        """The best cost as a share of that of -Oz; None before both are known."""
        costs = self.costs[self.goal]
        return costs["best"] / max(costs["Oz"], 1) if {"best", "Oz"} <= costs.keys() else None

    @property
    def unoptimised(self) -> Path | None:
        """The file of the unoptimised program, once written."""
        return self.bitcode and self.bitcode.with_suffix(".input.bc")


@contextmanager
def reporting(game: Game) -> Iterator[None]:
    """Notes an error in the search for a program. The searches for others go on."""
    try:
        yield
    except Exception as error:
        game.fail(reason_for(game.name, error))


def play(game: Game, stop: threading.Event, seconds: float, seed: int, folder: Path) -> None:
    """Searches for one program, and writes the unoptimised and the optimised program.

    Args:
        game: What is found out is written there at once.
        stop: Ends the search early, and no files are written then.
        seconds: For how long to search.
        seed: Repeats a search, as far as it comes in its time.
        folder: The folder; made if need be.

    Raises:
        LookupError: If there is no such program.
        Exception: If it cannot be used, or the service fails repeatedly.
    """
    with make("llvm-v0", benchmark=game.uri) as env:
        find(env, game, stop, seconds, seed)
        if not stop.is_set():
            write(env, game, folder)
            prove(game)


def find(env: "LlvmEnv", game: Game, stop: threading.Event, seconds: float, seed: int) -> None:
    """Searches for one program: :func:`play` without the files.

    Args:
        env: An environment whose benchmark is the program.
        game: What is found out is written there at once.
        stop: Ends the search early.
        seconds: For how long to search.
        seed: Repeats a search, as far as it comes in its time.
    """
    game.state = "baselines"
    env.reset()
    _measure_baselines(env, game)
    game.state = "searching"
    shortening = seconds * _SHARE_OF_SHORTENING
    _search(env, game, stop, time.monotonic() + seconds - shortening, random.Random(seed))
    game.state = "shortening"
    shorten(env, game, stop, time.monotonic() + shortening)


def _measure_baselines(env: "LlvmEnv", game: Game) -> None:
    names = [f"{prefix}{level}" for _, prefix in COSTS.values() for level in ("O0", "Oz")]
    values = iter(env.observation.observe(names))
    for costs in game.costs.values():
        costs["O0"], costs["Oz"] = int(next(values)), int(next(values))


def _search(
    env: "LlvmEnv", game: Game, stop: threading.Event, deadline: float, rng: random.Random
) -> None:
    from compiler_gym.tuning.policies.policy import FIRST_SEQUENCE, Policy, mutate

    game.costs[game.goal]["best"] = game.costs[game.goal]["O0"]
    for names in (FIRST_SEQUENCE, *Policy.load("sequence").sequences):
        _try(env, game, [env.action_space[name] for name in names])
    while time.monotonic() < deadline and not stop.is_set():
        _try(env, game, mutate(game.actions, int(env.action_space.n), rng))
        game.tries += 1


def _try(env: "LlvmEnv", game: Game, actions: list[int]) -> None:
    """Evaluates a sequence, and keeps it if it is as good as the best."""
    costs = game.costs[game.goal]
    cost = _compile(env, actions, game.goal)
    if cost is not None and cost <= costs["best"]:
        costs["best"], game.actions = cost, actions
        game.commandline = env.action_space.to_string(actions)


def shorten(env: "LlvmEnv", game: Game, stop: threading.Event, deadline: float) -> None:
    """Removes passes without effect from the best sequence."""
    best = game.costs[game.goal]["best"]

    def is_as_good(actions: list[int]) -> bool:
        if stop.is_set() or time.monotonic() > deadline:
            return False
        cost = _compile(env, actions, game.goal)
        return cost is not None and cost <= best

    for shorter in reductions(game.actions, is_as_good):
        game.actions, game.commandline = shorter, env.action_space.to_string(shorter)


def _compile(env: "LlvmEnv", actions: list[int], goal: str) -> int | None:
    """Plays one episode. Returns the final cost, or None if the compiler failed."""
    env.reset()
    (cost,), _, done, _ = env.multistep(actions, observation_spaces=[COSTS[goal][0]])
    return None if done else int(cost)


def write(env: "LlvmEnv", game: Game, folder: Path) -> None:
    """Compiles with the best sequence once more, and writes the files."""
    game.state = "proving"
    folder.mkdir(parents=True, exist_ok=True)
    bitcode = folder / f"{stem_of(game)}.bc"
    env.reset()
    env.write_bitcode(bitcode.with_suffix(".input.bc"))
    env.multistep(game.actions)
    costs = env.observation.observe([observation for observation, _ in COSTS.values()])
    for name, cost in zip(COSTS, costs, strict=True):
        game.costs[name]["best"] = int(cost)
    game.commandline = env.commandline()
    game.bitcode = env.write_bitcode(bitcode)


def stem_of(game: Game) -> str:
    """Returns the stem of the names of a program's files."""
    return _FILE_NAME.sub("-", game.name.removesuffix(".bc")).strip("-")


def prove(game: Game) -> None:
    """Checks that the real ``opt`` makes the same file of a program."""
    try:
        game.proof = "identical" if is_made_by_opt(game) else "DIFFERENT"
    except EnvironmentNotSupported:  # The search itself needs no tools.
        game.proof = NO_OPT
    game.state = "done"


def is_made_by_opt(game: Game) -> bool:
    """Runs the command line with the real ``opt``. Returns true if it writes the same bytes."""
    from compiler_gym.envs.llvm.benchmarks.validation import run_opt

    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        (folder / "input.bc").symlink_to(game.unoptimised.absolute())
        run_opt(game.commandline, folder)
        return (folder / "output.bc").read_bytes() == game.bitcode.read_bytes()


# The search for one program as a task of a pool.

# A search exceeds its time by the first and the last compilation.
_SLACK_SECONDS = 300.0


@dataclass(frozen=True)
class Search:
    """The search for one program. Its progress depends on the machine.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
        goal: The size to reduce, see :class:`Game`.
        seconds: The search time.
        seed: The seed.
    """

    program: str
    message: str
    goal: str
    seconds: float
    seed: int

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        from compiler_gym.distributed.task import name_of

        return name_of({"search": 1, **asdict(self)})

    def run(self, worker: "Worker") -> tuple[Game, bytes, bytes]:
        """Searches.

        Returns:
            The result, and the bitcode of the program before and after the passes.
        """
        env = worker.env("llvm-v0", {})
        env.benchmark = worker.program(self.message)
        game = Game(self.program, self.goal)
        find(env, game, worker.stop, self.seconds, self.seed)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            write(env, game, Path(folder))
            assert game.bitcode is not None and game.unoptimised is not None
            files = game.unoptimised.read_bytes(), game.bitcode.read_bytes()
        game.bitcode = None
        return game, *files


def search_on_nodes(
    games: Sequence[Game], datasets: "Datasets", ray: str, seconds: float, seed: int, folder: Path
) -> Generator[Game, None, None]:
    """Searches for programs on the nodes of a Ray cluster, and writes their files here.

    Args:
        games: The programs.
        datasets: The datasets of the programs.
        ray: The address of the cluster.
        seconds: Search time of all programs together.
        seed: The seed.
        folder: The folder of the files.

    Yields:
        The result of each search, as they come.

    Raises:
        PoolError: If there are no workers.
    """
    from compiler_gym.distributed.pool import Limits
    from compiler_gym.distributed.programs import Program
    from compiler_gym.distributed.task import Job

    limits = Limits(task_seconds=seconds + _SLACK_SECONDS)
    with (
        command_pool(ray, limits) as pool,
        PoolProgress(pool, len(games), "programs").shown() as progress,
    ):
        share = seconds * min(max(pool.capacity(), 1), len(games)) / len(games)

        by_uri = {game.uri: game for game in games}

        def jobs() -> "Iterator[Job]":
            for game in games:
                with reporting(game):
                    program = Program.of(datasets.benchmark(game.uri))
                    task = Search(program.uri, program.message, game.goal, share, seed)
                    yield Job(task, {program.message: program.data})

        for outcome in pool.run(jobs()):
            assert isinstance(outcome.task, Search)
            game = by_uri[outcome.task.program]
            if outcome.error is not None:
                game.fail(outcome.error)
            else:
                game, before, after = outcome.value
                with reporting(game):
                    _write_files(game, folder, before, after)
                    prove(game)
            progress.advance()
            yield game


def _write_files(game: Game, folder: Path, before: bytes, after: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    game.bitcode = folder / f"{stem_of(game)}.bc"
    game.bitcode.write_bytes(after)
    assert game.unoptimised is not None
    game.unoptimised.write_bytes(before)
