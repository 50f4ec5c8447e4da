"""What the environment costs: all measurements on one program, by all players in turns."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

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

BATCH = 10
EPISODE_STEPS = 40
FORK_DEPTHS = (0, 10, 40)

_WARM_UP_STEPS = 5


@dataclass(frozen=True)
class Effort:
    """How many samples are taken of each measurement.

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
    idle_steps=1000, episodes=10, batches=200, resets=30, forks=20, observations=20, starts=10
)
QUICK = Effort(idle_steps=10, episodes=1, batches=3, resets=2, forks=2, observations=1, starts=1)


class EnvBenchmark:
    """Measures everything on one program.

    Args:
        arena: The program, and players.
        effort: How many samples to take.
    """

    def __init__(self, arena: Arena, effort: Effort):
        self._arena = arena
        self._effort = effort
        self._results = Measurements()
        # The same walks every time, and on all programs.
        self._rng = random.Random(0)

    def run(self) -> dict[str, dict[str, Summary]]:
        """Returns a summary for each of :data:`COLUMNS`, by what was measured."""
        with (
            self._arena.players(None) as plain,
            self._arena.players(OBSERVED) as observing,
        ):
            self._measure_steps(plain, observing)
            self._measure_batches(plain, observing)
        with self._arena.players(()) as players:
            self._measure_resets(players)
            self._measure_forks(players)
            self._measure_observations(players)
        self._measure_starts()
        return self._results.summaries()

    # ----------------------------------------------------------------------------------------------
    # Steps.

    def _measure_steps(self, plain: Players, observing: Players) -> None:
        idle = [self._arena.pipelines.index(IDLE_PIPELINE)]
        for player in (*plain, *observing):
            for _ in range(_WARM_UP_STEPS):
                player.play(idle)
        for _ in range(self._effort.idle_steps):
            self._play("step, nothing left to do", plain, observing, idle)
        for _ in range(self._effort.episodes):
            _reset(plain, observing)
            for _ in range(EPISODE_STEPS):
                actions = self._random_actions(1)
                self._play("step of a random walk", plain, observing, actions)

    def _measure_batches(self, plain: Players, observing: Players) -> None:
        idle = [self._arena.pipelines.index(IDLE_PIPELINE)] * BATCH
        _reset(plain, observing)
        for player in (*plain, *observing):
            player.play(idle)
        for _ in range(self._effort.batches):
            self._play(f"{BATCH} steps at once, nothing left to do", plain, observing, idle)
        for _ in range(self._effort.episodes):
            _reset(plain, observing)
            for _ in range(EPISODE_STEPS // BATCH):
                actions = self._random_actions(BATCH)
                self._play(f"{BATCH} steps at once of a random walk", plain, observing, actions)

    def _play(self, row: str, plain: Players, observing: Players, actions: Sequence[int]) -> None:
        """Lets all players apply the same actions to the same program."""
        jobs = {}
        for name, players in ((row, plain), (row + OBSERVING, observing)):
            for column, player in players.by_column().items():
                jobs[name, column] = partial(player.play, actions)
        self._results.take_turns(jobs)

    def _random_actions(self, count: int) -> list[int]:
        return self._rng.choices(range(len(self._arena.pipelines)), k=count)

    # ----------------------------------------------------------------------------------------------
    # Everything else.

    def _measure_resets(self, players: Players) -> None:
        for _ in range(self._effort.resets):
            self._take_turns("reset, program known", players, lambda player: player.reset())
        for _ in range(self._effort.resets):
            self._take_turns(
                "reset, new program",
                players,
                lambda player: player.reset_to(self._arena.fresh_benchmark()),
            )
            # It takes a run of the pipeline that the reward compares with.
            self._take_turns(
                "the first -Oz reward of a new program",
                players,
                lambda player: player.observe(BASELINE),
            )

    def _measure_forks(self, players: Players) -> None:
        _reset(players)
        depth = 0
        for steps in FORK_DEPTHS:
            for action in self._random_actions(steps - depth):
                for player in players:
                    player.play([action])
            depth = steps
            for _ in range(self._effort.forks):
                self._take_turns(f"fork after {steps} steps", players, lambda player: player.fork())

    def _measure_observations(self, players: Players) -> None:
        changes = self._changes(players)
        for _ in range(self._effort.observations):
            for name in OBSERVATIONS:
                next(changes)
                self._take_turns(
                    f"{name} of a changed program",
                    players,
                    partial(lambda player, name: player.observe(name), name=name),
                )

    def _changes(self, players: Players) -> Iterator[None]:
        """Walks at random, and stops after each step that changed the program."""
        while True:
            _reset(players)
            for action in self._random_actions(EPISODE_STEPS):
                for player in players:
                    player.play([action])
                if players.environment.changed:
                    yield

    def _take_turns(self, row: str, players: Players, job: Callable[[Player], float]) -> None:
        self._results.take_turns(
            {(row, column): partial(job, player) for column, player in players.by_column().items()}
        )

    def _measure_starts(self) -> None:
        jobs = {
            ENVIRONMENT: self._start_environment,
            GRPC: self._start_service,
            IN_PROCESS: self._start_replay,
        }
        for _ in range(self._effort.starts):
            self._results.take_turns(
                {("start of the service, first reset", name): job for name, job in jobs.items()}
            )

    def _start_environment(self) -> float:
        benchmark = self._arena.fresh_benchmark()

        def start() -> LlvmEnv:
            env = LlvmEnv(service=self._arena.service)
            env.reset(benchmark=benchmark)
            return env

        duration, env = timed(start)
        env.close()
        return duration

    def _start_service(self) -> float:
        benchmark = self._arena.fresh_benchmark()

        def start() -> GrpcPlayer:
            player = GrpcPlayer(CompilerGymServiceConnection(self._arena.service))
            player.reset_to(benchmark)
            return player

        duration, player = timed(start)
        player.close()
        return duration

    def _start_replay(self) -> float:
        def start() -> Replay:
            replay = Replay(self._arena.replay, self._arena.program)
            replay.start()
            return replay

        duration, replay = timed(start)
        replay.close()
        return duration


def _reset(*all_players: Players) -> None:
    for players in all_players:
        for player in players:
            player.reset()
