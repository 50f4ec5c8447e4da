"""Validates states: that they can be reached again, with the same reward, and that programs work.

python -m compiler_gym.bin.validate --env=llvm-ic-v0 results.csv
... | python -m compiler_gym.bin.validate --env=llvm-ic-v0 -
"""

import json
from pathlib import Path
from typing import NoReturn

from compiler_gym.cli.console import print_line
from compiler_gym.cli.validate import as_plain, read_states, summary, validated
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import parse_arguments, start
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.flags import nproc as _nproc  # noqa: F401, defines the flag.
from compiler_gym.validation_result import ValidationResult

flags.DEFINE_boolean("inorder", False, "Print results in the order of the states.")
flags.DEFINE_enum("reward_aggregation", "geomean", ["geomean", "mean"], "How rewards are averaged.")
flags.DEFINE_boolean("debug_force_valid", False, "Take all states to be valid.")
flags.DEFINE_boolean("summary_only", False, "Print no line for each state.")
flags.DEFINE_string("validation_logfile", "validation.log.json", "The file for all results.")


def main(argv: list[str]) -> int:
    """Validates the states of the files; returns 1 if any is not valid."""
    values = flags.FLAGS
    arguments = parse_arguments(argv)
    with env_from_flags() as env:  # A wrong flag is told about before anything is read.
        reward = env.reward_space.name if env.reward_space else None
    if not arguments:
        raise ValueError("Name files of states, or - for standard input")
    states, malformed = read_states(arguments)
    results = []
    for result in validated(env_from_flags, states, values.nproc, values.inorder):
        if values.debug_force_valid:
            result = ValidationResult(state=result.state, walltime=result.walltime)
        results.append(result)
        if not values.summary_only:
            print_line(str(result))
    with atomic_file_write(Path(values.validation_logfile), fileobj=True, mode="w") as file:
        json.dump([as_plain(result) for result in results], file, indent=2)
    print_line("-" * 52)
    for line in summary(results, len(states), reward, values.reward_aggregation):
        print_line(line)
    return 0 if not malformed and all(result.okay() for result in results) else 1


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
