"""Plays the best actions of a random search again, and shows what each of them does.

python -m compiler_gym.bin.random_replay --env=llvm-ic-v0 --output_dir=FOLDER
"""

import json
from pathlib import Path
from typing import NoReturn

from compiler_gym.cli.replay import played, print_replay
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.benchmark_from_flags import benchmark_from_flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import no_arguments, start
from compiler_gym.compat.random_agents import BEST_ACTIONS, METADATA
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.flags import output_dir as _output_dir  # noqa: F401, defines the flag.


def print_replay_of(env: CompilerEnv, folder: Path) -> None:
    """Plays the best actions of a random search in an environment, and prints what they do."""
    actions = [int(line) for line in (folder / BEST_ACTIONS).read_text().split()]
    env.reset(benchmark=env.benchmark)
    print_replay(env, list(played(env, actions)))


def main(argv: list[str]) -> None:
    """Plays the actions of a folder, in the environment that they were found in."""
    no_arguments(argv)
    values = flags.FLAGS
    if not values.output_dir:
        raise flags.Error("--output_dir is not given: name the folder of a random search")
    folder = Path(values.output_dir)
    metadata = json.loads((folder / METADATA).read_text())
    values.env = values.env or metadata["env"]
    values.reward = values.reward or metadata["reward"]
    values.action_space = values.action_space or metadata.get("action_space")
    with env_from_flags(benchmark_from_flags() or metadata["benchmark"]) as env:
        print_replay_of(env, folder)


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
