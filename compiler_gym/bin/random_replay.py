"""A program of former releases: ``python -m compiler_gym.bin.random_replay``."""

from compiler_gym.compat.programs.random_replay import main, print_replay_of, run

__all__ = ["main", "print_replay_of", "run"]

if __name__ == "__main__":
    run()
