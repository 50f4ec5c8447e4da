"""A program of former releases: ``python -m compiler_gym.bin.datasets``."""

from compiler_gym.compat.programs.datasets import main, run

__all__ = ["main", "run"]

if __name__ == "__main__":
    run()
