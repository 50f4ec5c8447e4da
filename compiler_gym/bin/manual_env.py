"""A program of former releases: ``python -m compiler_gym.bin.manual_env``."""

from compiler_gym.compat.programs.manual_env import commands, main, run

__all__ = ["commands", "main", "run"]

if __name__ == "__main__":
    run()
