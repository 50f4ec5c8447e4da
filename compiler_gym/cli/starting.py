"""Handling of Ctrl-C while Python imports the package for one of its programs.

The package imports this module first.
"""

import os
import sys

from compiler_gym.cli.interrupts import end_on_interrupt

_SCRIPTS = ("compiler-gym", "compiler-gym-cc", "compiler-gym-c++")


def _is_program_of_ours() -> bool:
    words = sys.orig_argv
    # This is the case while Python imports the package of a module to run.
    if sys.argv[:1] == ["-m"]:
        module = "".join(words[words.index("-m") + 1 :][:1]) if "-m" in words else ""
        programs = ("compiler_gym", "compiler_gym.compliance")
        return module in programs or module.startswith("compiler_gym.bin.")
    # Child processes of multiprocessing have the parent's arguments, which are not theirs.
    script = sys.argv[0] if sys.argv else ""
    return os.path.basename(script) in _SCRIPTS and script in words


if _is_program_of_ours():
    end_on_interrupt()
