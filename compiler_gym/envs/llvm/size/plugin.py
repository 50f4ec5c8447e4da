"""The plugin with which clang and opt run the project's own passes."""

from pathlib import Path

from compiler_gym.util.service_binary import find_service_file

_NAME = "compiler_gym-llvm-passes.so"


def find_plugin() -> Path | None:
    """Returns the path of the plugin that comes with the package; None if it has not been built."""
    return find_service_file(_NAME)
