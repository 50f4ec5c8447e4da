"""``python -m compiler_gym.bin.measure_pass``: the command ``compiler-gym measure-pass``."""

from compiler_gym.cli.app import COMMANDS, run_command


def main() -> None:
    """Runs the program."""
    run_command(lambda: COMMANDS["measure-pass"].load("measure_pass"), "measure_pass")


if __name__ == "__main__":
    main()
