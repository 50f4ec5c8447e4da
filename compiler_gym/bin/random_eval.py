"""A program of former releases: ``python -m compiler_gym.bin.random_eval``."""

from compiler_gym.compat.programs.random_eval import main, run

__all__ = ["main", "run"]

if __name__ == "__main__":
    run()
