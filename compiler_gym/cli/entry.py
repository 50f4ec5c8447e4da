"""Entry point of the program ``compiler-gym``."""

from importlib import import_module

from compiler_gym.util.interrupts import end_on_interrupt


def main() -> None:
    """Imports the program, which takes a moment, and runs it."""
    end_on_interrupt()
    import_module("compiler_gym.cli.app").main()
