"""``python -m compiler_gym``: the program ``compiler-gym``, whose shell it opens by itself."""

import sys

from compiler_gym.cli.entry import main

if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.argv.append("shell")
    main()
