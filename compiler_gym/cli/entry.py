"""Entry point of the program ``compiler-gym``."""

import gc
from importlib import import_module

from compiler_gym.util.interrupts import end_on_interrupt


def main() -> None:
    """Imports the program, which takes a moment, and runs it."""
    end_on_interrupt()
    try:
        import_module("compiler_gym.cli.app").main()
    finally:
        # To look for garbage in all modules before the end takes a tenth of a second.
        gc.freeze()
