"""The flags that say which environment to use."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from absl import flags

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service.connection_opts import ConnectionOpts
from compiler_gym.util.registration import COMPILER_GYM_ENVS, make

flags.DEFINE_string("env", None, "The id of an environment, see --ls_env.")
flags.DEFINE_string("service", None, "The host:port of a service that runs, to use that.")
flags.DEFINE_string("local_service_binary", None, "The program of a service to start.")
flags.DEFINE_string("observation", None, "The name of the default observation.")
flags.DEFINE_string("reward", None, "The name of the default reward.")
flags.DEFINE_string("action_space", None, "The name of the action space, e.g. Legacy124.")
flags.DEFINE_boolean("ls_env", False, "Print the ids of the environments and exit.")
flags.DEFINE_integer(
    "service_rpc_call_max_seconds", 300, "How long the service may take to answer."
)
flags.DEFINE_float("service_init_max_seconds", 10, "How long a start of the service may take.")
flags.DEFINE_integer("service_init_max_attempts", 5, "How often to try to start the service.")
flags.DEFINE_float(
    "local_service_port_init_max_seconds", 10, "How long to wait for the service to say its port."
)
flags.DEFINE_float("local_service_exit_max_seconds", 10, "How long to wait for the service to end.")
flags.DEFINE_float(
    "service_rpc_init_max_seconds", 3, "How long to wait for the first answer of the service."
)


def connection_settings_from_flags() -> ConnectionOpts:
    """Returns the time limits that the flags set."""
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
        benchmark: Its benchmark; of its own choice if not given.
        script_args: Arguments of a service that is started.

    Raises:
        absl.flags.Error: If ``--env`` is not given.
        LookupError: If there is no such environment, observation, reward or action space.
    """
    values = flags.FLAGS
    if values.ls_env:
        print("\n".join(sorted(COMPILER_GYM_ENVS)))
        sys.exit(0)
    if not values.env:
        raise flags.Error("--env is not given: name an environment, see --ls_env")
    binary = values.local_service_binary
    arguments = {
        "benchmark": benchmark,
        "action_space": values.action_space,
        "observation_space": values.observation,
        "reward_space": values.reward,
        "service": values.service or (binary and Path(binary)),
    }
    # Those of the id hold for what is not given.
    given = {name: value for name, value in arguments.items() if value}
    settings = connection_settings_from_flags()
    settings.script_args = [*script_args]
    return make(values.env, connection_settings=settings, **given)


@contextmanager
def env_session_from_flags(benchmark: Benchmark | str | None = None) -> Iterator[CompilerEnv]:
    """Makes an environment from flags, and closes it at the end of the block."""
    with env_from_flags(benchmark) as env:
        yield env
