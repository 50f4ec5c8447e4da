"""A search for sequences of LLVM passes that make a program smaller than ``-Oz`` does.

Each program is an episode, played again and again. The search begins with the levels of ``opt``,
with and without marks of all functions, and with sequences that were learnt from many programs. It
mutates the best sequence, compiles the program, and keeps improvements. At the end it removes
passes without effect, and the real ``opt`` proves each result.
"""

import random
import re
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.cli.failures import reason_for
from compiler_gym.cli.pool_options import PoolProgress, command_pool
from compiler_gym.cli.search_state import COSTS, NO_OPT, Budget, Game, unoptimised_beside
from compiler_gym.errors import EnvironmentNotSupported, ServiceError
from compiler_gym.util.registration import make
from compiler_gym.util.sequence_reducer import reductions

if TYPE_CHECKING:
    from compiler_gym.cli.sequence_trials import Trials
    from compiler_gym.datasets import Datasets
    from compiler_gym.distributed.task import Job
    from compiler_gym.distributed.worker import Worker
    from compiler_gym.envs.llvm import LlvmEnv

_FILE_NAME = re.compile(r"[^\w.-]+")


@contextmanager
def reporting(game: Game) -> Iterator[None]:
    """Notes an error in the search for a program. The searches for others go on."""
    try:
        yield
    except Exception as error:
        game.fail(reason_for(game.name, error))


def play(game: Game, stop: threading.Event, budget: Budget, seed: int, folder: Path) -> None:
    """Searches for one program, and writes the unoptimised and the optimised program.

    Args:
        game: What is found out is written there at once.
        stop: Ends the search early, and no files are written then.
        budget: The end of the search.
        seed: Repeats a search, as far as it comes in its time.
        folder: The folder; made if need be.

    Raises:
        LookupError: If there is no such program.
        Exception: If it cannot be used, or the service fails repeatedly.
    """
    with make("llvm-v0", benchmark=game.uri) as env:
        find(env, game, stop, budget, seed)
        if not stop.is_set():
            write(env, game, folder)
            prove(game)


def find(env: "LlvmEnv", game: Game, stop: threading.Event, budget: Budget, seed: int) -> None:
    """Searches for one program: :func:`play` without the files.

    Args:
        env: An environment whose benchmark is the program. Its next episode has the action space of
            the result.
        game: What is found out is written there at once.
        stop: Ends the search early.
        budget: The end of the search.
        seed: Repeats a search, as far as it comes in its time.
    """
    from compiler_gym.cli.sequence_trials import PASS_SPACE, SequenceSearch, Trials
    from compiler_gym.tuning.policies.policy import LEVEL_SPACE

    game.state = "baselines"
    env.reset()
    measure_baselines(env, game)
    game.state = "searching"
    searching, shortening = budget.parts()
    cost = COSTS[game.goal][0]
    with (
        closing(Trials(env, LEVEL_SPACE, cost)) as levels,
        closing(Trials(env, PASS_SPACE, cost)) as passes,
    ):
        search = SequenceSearch(game, levels, passes, budget.llvm_only)
        search.run(stop, searching, random.Random(seed))
        game.state = "shortening"
        shorten(game, search.best, stop, shortening.is_over)
        env.reset(action_space=search.best.space)


def measure_baselines(env: "LlvmEnv", game: Game) -> None:
    """Notes the costs of the program of an episode that has just begun, and those of levels."""
    from compiler_gym.envs.workbench import fork_at
    from compiler_gym.tuning.policies.policy import LEVEL_SPACE, Levels

    level = Levels.of(env).marked_oz
    with fork_at(env, action_space=LEVEL_SPACE) as marked:
        _, _, failed, _ = marked.multistep([marked.action_space[name] for name in level])
        for name, (observation, prefix) in COSTS.items():
            costs = game.costs[name]
            with _copy_to_measure(env, game, name) as copy:
                values = copy.observation.observe([f"{prefix}O0", f"{prefix}Oz"])
                costs["O0"], costs["Oz"] = map(int, values)
            if not failed:
                with _copy_to_measure(marked, game, name) as copy:
                    costs["marked_Oz"] = int(copy.observation[observation])


@contextmanager
def _copy_to_measure(env: "LlvmEnv", game: Game, cost: str) -> "Iterator[LlvmEnv]":
    """Makes a copy of an episode. A failure of the compiler there counts for the goal alone.

    The code generator cannot compile some programs, which can have fewer instructions all the same.
    """
    try:
        with env.fork() as copy:
            yield copy
    except ServiceError:
        if cost == game.goal:
            raise


def shorten(
    game: Game, trials: "Trials", stop: threading.Event, is_over: Callable[[int], bool]
) -> None:
    """Removes passes without effect from the best sequence.

    Args:
        game: Has the sequence, and gets the shorter one.
        trials: Tries sequences of its action space.
        stop: Ends it early.
        is_over: Takes the number of sequences tried. Ends it early, too.
    """
    best = game.costs[game.goal]["best"]
    tries = 0

    def is_as_good(actions: list[int]) -> bool:
        nonlocal tries
        if stop.is_set() or is_over(tries):
            return False
        tries += 1
        # A smaller program would count more tries than the budget has.
        return trials.attempt(actions).cost == best

    for shorter in reductions(game.actions, is_as_good):
        trials.keep(shorter, best)
        game.actions, game.commandline = shorter, trials.space.to_string(shorter)


def write(env: "LlvmEnv", game: Game, folder: Path) -> None:
    """Compiles with the best sequence once more, and writes the files."""
    game.state = "proving"
    folder.mkdir(parents=True, exist_ok=True)
    bitcode = bitcode_of(game, folder)
    env.reset()
    env.write_bitcode(unoptimised_beside(bitcode))
    env.multistep(game.actions)
    for name, (observation, _) in COSTS.items():
        with _copy_to_measure(env, game, name) as copy:
            game.costs[name]["best"] = int(copy.observation[observation])
    game.commandline = env.commandline()
    game.bitcode = env.write_bitcode(bitcode)


def bitcode_of(game: Game, folder: Path) -> Path:
    """Returns the file of a program's result."""
    stem = _FILE_NAME.sub("-", game.name.removesuffix(".bc")).strip("-")
    return folder / f"{stem}.bc"


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

# The time of a search that only its tries limit.
_LONGEST_SECONDS = 86400.0


@dataclass(frozen=True)
class Search:
    """The search for one program. Its progress depends on the machine.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
        goal: The size to reduce, see :class:`Game`.
        budget: The end of the search.
        seed: The seed.
    """

    program: str
    message: str
    goal: str
    budget: Budget
    seed: int

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        from compiler_gym.distributed.task import name_of

        return name_of({"search": 2, **asdict(self)})

    def run(self, worker: "Worker") -> tuple[Game, bytes, bytes]:
        """Searches.

        Returns:
            The result, and the bitcode of the program before and after the passes.
        """
        env = worker.env("llvm-v0", {})
        env.reset(benchmark=worker.program(self.message))
        game = Game(self.program, self.goal)
        find(env, game, worker.stop, self.budget, self.seed)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            write(env, game, Path(folder))
            assert game.bitcode is not None and game.unoptimised is not None
            files = game.unoptimised.read_bytes(), game.bitcode.read_bytes()
        game.bitcode = None
        return game, *files


def search_on_nodes(
    games: Sequence[Game], datasets: "Datasets", ray: str, budget: Budget, seed: int, folder: Path
) -> Generator[Game, None, None]:
    """Searches for programs on the nodes of a Ray cluster, and writes their files here.

    Args:
        games: The programs.
        datasets: The datasets of the programs.
        ray: The address of the cluster.
        budget: The end of the search: the search time of all programs together, and the tries of
            each.
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

    seconds = budget.seconds
    limits = Limits(task_seconds=_LONGEST_SECONDS if seconds is None else seconds + _SLACK_SECONDS)
    with (
        command_pool(ray, limits) as pool,
        PoolProgress(pool, len(games), "programs").shown() as progress,
    ):
        if seconds is not None:
            seconds *= min(max(pool.capacity(), 1), len(games)) / len(games)
        each = replace(budget, seconds=seconds)
        by_uri = {game.uri: game for game in games}

        def jobs() -> "Iterator[Job]":
            for game in games:
                with reporting(game):
                    program = Program.of(datasets.benchmark(game.uri))
                    task = Search(program.uri, program.message, game.goal, each, seed)
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
    game.bitcode = bitcode_of(game, folder)
    game.bitcode.write_bytes(after)
    assert game.unoptimised is not None
    game.unoptimised.write_bytes(before)
