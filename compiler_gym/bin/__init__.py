"""Programs for the command line: ``python -m compiler_gym.bin.NAME``."""
