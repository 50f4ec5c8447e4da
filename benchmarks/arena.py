"""An arena for players: one program, and one service that they share."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.env_player import EnvPlayer
from benchmarks.grpc_player import GrpcPlayer
from benchmarks.player import Player
from benchmarks.replay_player import ReplayPlayer
from compiler_gym.datasets import Benchmark
from compiler_gym.service import ConnectionOpts
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import BenchmarkDynamicConfig, Command, File, py_converters

ENVIRONMENT = "environment"
GRPC = "gRPC alone"
IN_PROCESS = "in process"
COLUMNS = (ENVIRONMENT, GRPC, IN_PROCESS)
"""The players: the Python environment, bare calls of its requests, LLVM without a service."""

OBSERVATION = "Autophase"
REWARD = "IrInstructionCountOz"
OBSERVED = (OBSERVATION, "IrInstructionCount")
"""What the service is asked for with that observation and that reward."""


@dataclass(frozen=True)
class Players:
    """One player of each kind, in the order of :data:`COLUMNS`."""

    environment: EnvPlayer
    grpc: GrpcPlayer
    in_process: ReplayPlayer

    def by_column(self) -> dict[str, Player]:
        """The players by the column that their durations belong to."""
        return dict(zip(COLUMNS, self, strict=True))

    def __iter__(self) -> Iterator[Player]:
        return iter((self.environment, self.grpc, self.in_process))


class Arena:
    """Makes players, and copies of the program for them to play on.

    Args:
        program: A bitcode file.
        service: The service's executable.
        replay: The executable of Replay.cc.

    Attributes:
        connection: The service, which is started for the arena.
        pipelines: The pass of each action.
    """

    def __init__(self, program: Path, service: Path, replay: Path):
        self.program = program
        self.service = service
        self.replay = replay
        # What services have kept before must not help this one.
        opts = ConnectionOpts(script_args=["--baseline_cache=", "--sessions_before_large_pages=1"])
        self.connection = CompilerGymServiceConnection(service, opts).retain()
        action_space = self.connection.action_spaces[0]
        self.pipelines: list[str] = py_converters.message_to_python(action_space).names
        self._copies = itertools.count()

    def fresh_benchmark(self) -> Benchmark:
        """The program as one that no service has seen: it differs in how it would be run."""
        name = f"copy-{next(self._copies)}"
        return Benchmark(
            BenchmarkProto(
                uri=f"benchmark://measured-v0/{name}",
                program=File(contents=self.program.read_bytes()),
                dynamic_config=BenchmarkDynamicConfig(
                    run_cmd=Command(argument=["./a.out"], env={"NAME": name})
                ),
            )
        )

    @contextmanager
    def players(self, observations: Sequence[str] | None) -> Iterator[Players]:
        """Three players, each of which has begun an episode.

        Args:
            observations: :data:`OBSERVED` for steps with observation and reward, an empty sequence
                for steps without; None to have the player in process run the passes alone, while
                the service looks after each of them whether it has changed the program.
        """
        with ExitStack() as stack:
            spaces = (OBSERVATION, REWARD) if observations else (None, None)
            env = EnvPlayer(self.connection, *spaces)
            stack.callback(env.close)
            grpc = GrpcPlayer(self.connection, observations or ())
            stack.callback(grpc.close)
            process = ReplayPlayer(self.replay, self.program, self.pipelines, observations)
            stack.callback(process.close)
            players = Players(env, grpc, process)
            for player in players:
                player.reset_to(self.fresh_benchmark())
            yield players

    def close(self) -> None:
        """Ends the service."""
        self.connection.release()
