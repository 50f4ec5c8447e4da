"""A program of former releases: ``python -m compiler_gym.bin.validate``."""

from compiler_gym.compat.programs.validate import main, run

__all__ = ["main", "run"]

if __name__ == "__main__":
    run()
