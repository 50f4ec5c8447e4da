"""Programs for the command line: ``python -m compiler_gym.bin.NAME``."""

import sys

from compiler_gym.cli.interrupts import end_on_interrupt

# So it is while Python imports the package of a module that it is going to run.
if sys.argv[:1] == ["-m"]:
    end_on_interrupt()
