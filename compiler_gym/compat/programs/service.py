"""Prints what an environment has to offer as tables of reStructuredText, or runs its service.

python -m compiler_gym.bin.service --env=llvm-v0
python -m compiler_gym.bin.service --env=llvm-v0 --run_on_port=7777
"""

from typing import Any, NoReturn

from compiler_gym.cli.console import print_line
from compiler_gym.cli.describe import Part, table_of
from compiler_gym.cli.service import port_argument, serve
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.benchmark_from_flags import benchmark_from_flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import no_arguments, start
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.tabulate import tabulate

flags.DEFINE_integer(
    "run_on_port", None, "Run the service at this port until Ctrl-C.", lower_bound=0
)
flags.DEFINE_string("heading_underline_char", "-", "What to underline headings with.")

_HEADINGS = {
    Part.datasets: "Datasets",
    Part.observations: "Observation Spaces",
    Part.rewards: "Reward Spaces",
}


def main(arguments: list[str]) -> None:
    """Does what the flags say."""
    no_arguments(arguments)
    port = flags.FLAGS.run_on_port
    if port is not None:
        with env_from_flags(benchmark_from_flags(), [port_argument(port)]) as env:
            serve(env)
    with env_from_flags(benchmark_from_flags()) as env:
        print_service_capabilities(env)


def print_service_capabilities(env: CompilerEnv) -> None:
    """Prints the datasets, observations, rewards and actions of an environment.

    Selects each action space in turn and starts an episode with it.

    Args:
        env: The environment.
    """
    for part, heading in _HEADINGS.items():
        _print_part(heading, table_of(env, part))
    for space in env.action_spaces:
        env.action_space = space.name
        env.reset()
        _print_part(f"{space.name} Action Space", table_of(env, Part.actions))


def _print_part(heading: str, rows: list[dict[str, Any]]) -> None:
    print_line(heading)
    # By name: a program that imports this module may not have parsed the flags.
    print_line(str(flags.FLAGS["heading_underline_char"].value) * len(heading))
    print_line()
    if rows:
        print_line(tabulate([row.values() for row in rows], [*rows[0]], tablefmt="rst"))
    print_line()


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
