"""``python -m compiler_gym.compliance``: the same as ``compiler-gym compliance``."""

import sys

from compiler_gym.cli.entry import main

if __name__ == "__main__":
    sys.argv.insert(1, "compliance")
    main()
