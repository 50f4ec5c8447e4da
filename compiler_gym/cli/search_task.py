"""The search for one program as a task of a pool."""

import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from compiler_gym.cli.pool_options import PoolProgress, command_pool
from compiler_gym.cli.sequence_search import Game, find, prove, stem_of, write
from compiler_gym.datasets import Datasets
from compiler_gym.distributed.pool import Limits
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, name_of
from compiler_gym.distributed.worker import Worker

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
        return name_of({"search": 1, **asdict(self)})

    def run(self, worker: Worker) -> tuple[Game, bytes, bytes]:
        """Searches.

        Returns:
            The result, and the bitcode of the program before and after the passes.
        """
        env = worker.env("llvm-v0", {})
        env.benchmark = worker.program(self.message)
        game = Game(self.program, self.goal)
        find(env, game, threading.Event(), self.seconds, self.seed)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            write(env, game, Path(folder))
            assert game.bitcode is not None and game.unoptimised is not None
            files = game.unoptimised.read_bytes(), game.bitcode.read_bytes()
        game.bitcode = None
        return game, *files


def search_on_nodes(
    games: Sequence[Game], datasets: Datasets, ray: str, seconds: float, seed: int, folder: Path
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
        RuntimeError: If a search failed.
    """
    limits = Limits(task_seconds=seconds + _SLACK_SECONDS)
    with (
        command_pool(ray, limits) as pool,
        PoolProgress(pool, len(games), "programs").shown() as progress,
    ):
        share = seconds * min(max(pool.capacity(), 1), len(games)) / len(games)

        def jobs() -> Iterator[Job]:
            for game in games:
                program = Program.of(datasets.benchmark(game.uri))
                task = Search(program.uri, program.message, game.goal, share, seed)
                yield Job(task, {program.message: program.data})

        for outcome in pool.run(jobs()):
            if outcome.error is not None:
                raise RuntimeError(f"{outcome.task}: {outcome.error}")
            game, before, after = outcome.value
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
