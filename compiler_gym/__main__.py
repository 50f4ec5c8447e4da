"""``python -m compiler_gym``: the program ``compiler-gym``."""

from compiler_gym.cli.app import main

if __name__ == "__main__":
    main()
