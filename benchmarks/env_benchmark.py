"""Benchmark of the environment: all measurements on one program, by all players in turns."""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from benchmarks.arena import (
    ENVIRONMENT,
    GRPC,
    IN_PROCESS,
    OBSERVATION,
    OBSERVED,
    Arena,
    Players,
)
from benchmarks.grpc_player import GrpcPlayer
from benchmarks.measurements import Measurements, Summary
from benchmarks.player import Player, timed
from benchmarks.replay import Replay
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.service.connection import CompilerGymServiceConnection

OBSERVING = f", {OBSERVATION} + reward"

# It has nothing left to do when it has run once.
IDLE_PIPELINE = "function(dce)"

OBSERVATIONS = (
    "IrInstructionCount",
    "Autophase",
    "InstCount",
    "IrSha1",
    "Bitcode",
    "Ir",
    "ObjectTextSizeBytes",
)

BASELINE = "IrInstructionCountOz"


class Group(str, Enum):
    """A group of measurements."""

    IDLE = "idle"
    WALKS = "walks"
    RESETS = "resets"
    FORKS = "forks"
    OBSERVATIONS = "observations"
    STARTS = "starts"


BATCH = 10
EPISODE_STEPS = 40
FORK_DEPTHS = (0, 10, 40)


@dataclass(frozen=True)
class Effort:
    """The number of samples of each measurement.

    Attributes:
        idle_steps: Steps with nothing left to do.
        episodes: Random walks of 40 steps.
        batches: Requests of ten actions with nothing left to do. Those of random walks are four
            for each of ``episodes``.
        resets: Resets to the same program, and to a new one.
        forks: Forks after each number of steps.
        observations: Of each observation.
        starts: Starts of the service.
    """

    idle_steps: int
    episodes: int
    batches: int
    resets: int
    forks: int
    observations: int
    starts: int


FULL = Effort(
    idle_steps=1000, episodes=10, batches=200, resets=20, forks=20, observations=20, starts=10
)
QUICK = Effort(idle_steps=10, episodes=1, batches=3, resets=2, forks=2, observations=1, starts=1)


class EnvBenchmark:
    """Measures everything on one program.

    Each group of measurements gets a service and players of its own: programs that were loaded and
    dropped before leave holes in the memory, and what is loaded into holes is slower to walk over.

    Args:
        program: A bitcode file.
        service: The service's executable.
        replay: The executable of Replay.cc.
        effort: How many samples to take.

    Attributes:
        instructions: The number of IR instructions of the program.
    """

    def __init__(self, program: Path, service: Path, replay: Path, effort: Effort):
        self._make_arena = partial(Arena, program, service, replay)
        self._effort = effort
        self._results = Measurements()
        # The same walks every time, and on all programs.
        self._rng = random.Random(0)
        with Replay(replay, program) as process:
            self.instructions = process.start().instructions

    def run(self, groups: Collection[Group] = tuple(Group)) -> dict[str, dict[str, Summary]]:
        """Returns a summary for each of :data:`COLUMNS`, by what was measured.

        Args:
            groups: The measurements to make.
        """
        for group, measure in (
            (Group.IDLE, self._measure_idle_steps),
            (Group.WALKS, self._measure_walks),
            (Group.WALKS, self._measure_undisturbed_walks),
            (Group.WALKS, self._measure_walks_in_tens),
        ):
            if group in groups:
                with (
                    closing(self._make_arena()) as arena,
                    arena.players(None) as plain,
                    arena.players(OBSERVED) as observing,
                ):
                    measure(arena, plain, observing)
        for group, measure in (
            (Group.RESETS, self._measure_resets),
            (Group.FORKS, self._measure_forks),
            (Group.OBSERVATIONS, self._measure_observations),
        ):
            if group in groups:
                with closing(self._make_arena()) as arena, arena.players(()) as players:
                    measure(arena, players)
        if Group.STARTS in groups:
            with closing(self._make_arena()) as arena:
                self._measure_starts(arena)
        return self._results.summaries()

    # ----------------------------------------------------------------------------------------------
    # Steps.

    def _measure_idle_steps(self, arena: Arena, plain: Players, observing: Players) -> None:
        action = arena.pipelines.index(IDLE_PIPELINE)
        for player in (*plain, *observing):
            player.play([action] * BATCH)
        for _ in range(self._effort.idle_steps):
            self._play("step, nothing left to do", plain, observing, [action])
        for _ in range(self._effort.batches):
            row = f"{BATCH} steps at once, nothing left to do"
            self._play(row, plain, observing, [action] * BATCH)

    def _measure_walks(self, arena: Arena, plain: Players, observing: Players) -> None:
        for _ in range(self._effort.episodes):
            _reset(plain, observing)
            for action in self._random_actions(arena, EPISODE_STEPS):
                self._play("step of a random walk", plain, observing, [action])

    def _measure_undisturbed_walks(self, arena: Arena, plain: Players, observing: Players) -> None:
        """Lets each player play a whole episode before it is the turn of the next one."""
        row = "step of a random walk without others"
        for _ in range(self._effort.episodes):
            _reset(plain, observing)
            actions = self._random_actions(arena, EPISODE_STEPS)
            jobs = {}
            for name, players in ((row, plain), (row + OBSERVING, observing)):
                for column, player in players.by_column().items():
                    jobs[name, column] = partial(_play_next, player, iter(actions))
            self._results.take_turns(jobs, times=EPISODE_STEPS)

    def _measure_walks_in_tens(self, arena: Arena, plain: Players, observing: Players) -> None:
        for _ in range(self._effort.episodes):
            _reset(plain, observing)
            for _ in range(EPISODE_STEPS // BATCH):
                actions = self._random_actions(arena, BATCH)
                self._play(f"{BATCH} steps at once of a random walk", plain, observing, actions)

    def _play(self, row: str, plain: Players, observing: Players, actions: Sequence[int]) -> None:
        """Lets all players apply the same actions to the same program."""
        jobs = {}
        for name, players in ((row, plain), (row + OBSERVING, observing)):
            for column, player in players.by_column().items():
                jobs[name, column] = partial(player.play, actions)
        self._results.take_turns(jobs)

    def _random_actions(self, arena: Arena, count: int) -> list[int]:
        return self._rng.choices(range(len(arena.pipelines)), k=count)

    # ----------------------------------------------------------------------------------------------
    # Everything else.

    def _measure_resets(self, arena: Arena, players: Players) -> None:
        for _ in range(self._effort.resets):
            self._take_turns("reset, program known", players, lambda player: player.reset())
        for _ in range(self._effort.resets):
            self._take_turns(
                "reset, new program",
                players,
                lambda player: player.reset_to(arena.fresh_benchmark()),
            )
            # It takes a run of the pipeline that the reward compares with.
            self._take_turns(
                "the first -Oz reward of a new program",
                players,
                lambda player: player.observe(BASELINE),
            )

    def _measure_forks(self, arena: Arena, players: Players) -> None:
        depth = 0
        for steps in FORK_DEPTHS:
            for action in self._random_actions(arena, steps - depth):
                for player in players:
                    player.play([action])
            depth = steps
            for _ in range(self._effort.forks):
                self._take_turns(f"fork after {steps} steps", players, lambda player: player.fork())

    def _measure_observations(self, arena: Arena, players: Players) -> None:
        changes = self._changes(arena, players)
        for _ in range(self._effort.observations):
            for name in OBSERVATIONS:
                next(changes)
                self._take_turns(
                    f"{name} of a changed program",
                    players,
                    partial(lambda player, name: player.observe(name), name=name),
                )

    def _changes(self, arena: Arena, players: Players) -> Iterator[None]:
        """Walks at random, and stops after each step that changed the program."""
        while True:
            _reset(players)
            for action in self._random_actions(arena, EPISODE_STEPS):
                for player in players:
                    player.play([action])
                if players.environment.changed:
                    yield

    def _take_turns(self, row: str, players: Players, job: Callable[..., float]) -> None:
        self._results.take_turns(
            {(row, column): partial(job, player) for column, player in players.by_column().items()}
        )

    def _measure_starts(self, arena: Arena) -> None:
        jobs = {
            ENVIRONMENT: _start_environment,
            GRPC: _start_service,
            IN_PROCESS: _start_replay,
        }
        for _ in range(self._effort.starts):
            self._results.take_turns(
                {
                    ("start of the service, first reset", column): partial(job, arena)
                    for column, job in jobs.items()
                }
            )


def _play_next(player: Player, actions: Iterator[int]) -> float:
    return player.play([next(actions)])


def _start_environment(arena: Arena) -> float:
    benchmark = arena.fresh_benchmark()

    def start() -> LlvmEnv:
        env = LlvmEnv(service=arena.service)
        env.reset(benchmark=benchmark)
        return env

    duration, env = timed(start)
    env.close()
    return duration


def _start_service(arena: Arena) -> float:
    benchmark = arena.fresh_benchmark()

    def start() -> GrpcPlayer:
        player = GrpcPlayer(CompilerGymServiceConnection(arena.service))
        player.reset_to(benchmark)
        return player

    duration, player = timed(start)
    player.close()
    return duration


def _start_replay(arena: Arena) -> float:
    def start() -> Replay:
        replay = Replay(arena.replay, arena.program)
        replay.start()
        return replay

    duration, replay = timed(start)
    replay.close()
    return duration


def _reset(*all_players: Players) -> None:
    for players in all_players:
        for player in players:
            player.reset()
