"""A program of former releases: ``python -m compiler_gym.bin.service``."""

from compiler_gym.compat.programs.service import main, print_service_capabilities, run

__all__ = ["main", "print_service_capabilities", "run"]

if __name__ == "__main__":
    run()
