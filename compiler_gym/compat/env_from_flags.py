"""Command line flags that select an environment."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compiler_gym.compat.absl_flags import flags
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.util.registration import COMPILER_GYM_ENVS, make

flags.DEFINE_string("env", None, "The id of the environment. --ls_env lists the ids.")
flags.DEFINE_string("service", None, "The host:port of a running service to connect to.")
flags.DEFINE_string("local_service_binary", None, "The path of a service binary to start.")
flags.DEFINE_string("observation", None, "The name of the default observation.")
flags.DEFINE_string("reward", None, "The name of the default reward.")
flags.DEFINE_string("action_space", None, "The name of the action space, e.g. Legacy124.")
flags.DEFINE_boolean("ls_env", False, "List the ids of the environments, and exit.")
flags.DEFINE_integer("service_rpc_call_max_seconds", 300, "The time limit for a reply, in seconds.")
flags.DEFINE_float("service_init_max_seconds", 10, "The time limit for a start of the service.")
flags.DEFINE_integer("service_init_max_attempts", 5, "The maximum number of attempts to start it.")
flags.DEFINE_float(
    "local_service_port_init_max_seconds", 10, "The time limit for a service to announce its port."
)
flags.DEFINE_float("local_service_exit_max_seconds", 10, "The time limit for a service to exit.")
flags.DEFINE_float(
    "service_rpc_init_max_seconds", 3, "The time limit for the first reply of a service."
)


def connection_settings_from_flags() -> ConnectionOpts:
    """Returns the connection settings from the flags."""
    values = flags.FLAGS
    return ConnectionOpts(
        rpc_call_max_seconds=values.service_rpc_call_max_seconds,
        init_max_seconds=values.service_init_max_seconds,
        init_max_attempts=values.service_init_max_attempts,
        local_service_port_init_max_seconds=values.local_service_port_init_max_seconds,
        local_service_exit_max_seconds=values.local_service_exit_max_seconds,
        rpc_init_max_seconds=values.service_rpc_init_max_seconds,
    )


def env_from_flags(
    benchmark: Benchmark | str | None = None, script_args: Sequence[str] = ()
) -> CompilerEnv:
    """Makes the environment that the flags describe. With ``--ls_env``, ends the program instead.

    Args:
        benchmark: The benchmark. By default the environment chooses one.
        script_args: Command line arguments for a service that is started.

    Raises:
        absl.flags.Error: If ``--env`` is not given.
        LookupError: If there is no such environment, observation, reward or action space.
    """
    values = flags.FLAGS
    if values.ls_env:
        print("\n".join(sorted(COMPILER_GYM_ENVS)))
        sys.exit(0)
    if not values.env:
        raise flags.Error("expected --env ID; --ls_env lists the ids")
    binary = values.local_service_binary
    arguments = {
        "benchmark": benchmark,
        "action_space": values.action_space,
        "observation_space": values.observation,
        "reward_space": values.reward,
        "service": values.service or (binary and Path(binary)),
    }
    # The id sets the defaults of the others.
    given = {name: value for name, value in arguments.items() if value}
    settings = connection_settings_from_flags()
    settings.script_args = [*script_args]
    return make(values.env, connection_settings=settings, **given)


@contextmanager
def env_session_from_flags(benchmark: Benchmark | str | None = None) -> Iterator[CompilerEnv]:
    """Makes an environment from flags, and closes it at the end of the block."""
    with env_from_flags(benchmark) as env:
        yield env
