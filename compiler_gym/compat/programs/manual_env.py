"""Plays an environment by hand. Type help to see what can be done, or tutorial.

python -m compiler_gym.bin.manual_env --env=llvm-autophase-ic-v0
"""

from dataclasses import replace
from typing import NoReturn

from compiler_gym.cli.console import print_line, working_on
from compiler_gym.cli.options import program_name
from compiler_gym.cli.player import Player
from compiler_gym.cli.shell import Shell
from compiler_gym.cli.shell_commands import COMMANDS, Command, debug
from compiler_gym.compat.benchmark_from_flags import benchmark_from_flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import no_arguments, start

# The commands of the shell, by the names that they have here.
_NAMES = {
    "datasets": ["list_datasets"],
    "programs": ["list_benchmarks"],
    "program": ["set_benchmark"],
    "actions": ["list_actions"],
    "step": ["action"],
    "climb": ["hill_climb"],
    "try": ["try_all_actions"],
    "greedy": ["greedy"],
    "observations": ["list_observations"],
    "observe": ["observation"],
    "set-observation": ["set_default_observation"],
    "rewards": ["list_rewards"],
    "reward": ["reward"],
    "set-reward": ["set_default_reward"],
    "commandline": ["commandline"],
    "history": ["stack"],
    "simplify": ["simplify_stack"],
    "reset": ["reset"],
    "undo": ["back", "undo"],
    "diff": ["diff"],
}

_TUTORIAL = """\
A program is being compiled, and each action is a pass of the compiler.

  list_benchmarks          what programs there are
  set_benchmark NAME       begin with one of them
  list_actions             what passes there are
  action mem2reg           apply one, or several; - is a random one
  observation Autophase    look at the program
  reward                   what has been saved by the actions so far
  stack                    what the actions were, and what each has saved
  back                     take back the last (undo does the same)
  simplify_stack           leave out the actions that are not needed
  commandline              the command line of the compiler that does the same
  exit                     leave
"""


def tutorial(player: Player, words: list[str]) -> None:
    """Say how to begin."""
    print_line(_TUTORIAL)


def commands() -> list[Command]:
    """Returns the commands under the names that they have here."""
    known = {command.name: command for command in COMMANDS}
    renamed = [
        replace(known[name], usage=known[name].usage.replace(name, other, 1))
        for name, others in _NAMES.items()
        for other in others
    ]
    return [Command("tutorial", tutorial), *renamed, Command("breakpoint", debug)]


def _prompt(player: Player) -> str:
    return f"compiler_gym:{program_name(player.benchmark)}> "


def main(argv: list[str]) -> None:
    """Plays the environment of the flags."""
    no_arguments(argv)
    with working_on("starting"):
        env = env_from_flags(benchmark_from_flags())
    with env:
        shell = Shell(
            Player(env), commands(), _prompt, "Type help, or tutorial. Ctrl-D or exit leaves."
        )
        shell.run()


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
