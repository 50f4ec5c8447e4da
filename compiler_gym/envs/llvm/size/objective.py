"""What a search makes small."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from compiler_gym.envs.llvm.size.instructions import read_with_instructions
from compiler_gym.envs.llvm.size.object_file import ObjectFile, read_object

Count = TypeVar("Count")


class Objective(str, Enum):
    """What is to be small.

    Code, all that is loaded, or all that is loaded of what is linked: in bytes; or the number of
    machine instructions.
    """

    TEXT = "text"
    ALL = "all"
    LINKED = "linked"
    INSTRUCTIONS = "instructions"

    @property
    def unit(self) -> str:
        """What sizes are numbers of."""
        return "instructions" if self is Objective.INSTRUCTIONS else "bytes"

    def read(self, path: Path) -> ObjectFile:
        """Reads of an object file what has to be known of it.

        Raises:
            EnvironmentNotSupported: If that needs a tool that is not installed.
            ValueError: If it is not an ELF file, or cannot be disassembled where that is needed.
            OSError: If it cannot be read.
        """
        read = read_with_instructions if self is Objective.INSTRUCTIONS else read_object
        return read(path)

    def cost(self, found: ObjectFile) -> tuple[int, int]:
        """Returns the size of an object file, and what counts among those of the same size.

        Raises:
            ValueError: If its instructions have not been counted, but are what counts.
        """
        if self is Objective.INSTRUCTIONS:
            return _counted(found.instruction_count), found.text
        return (found.text, found.all) if self is Objective.TEXT else (found.all, found.text)

    def of_functions(self, found: ObjectFile) -> Mapping[str, int]:
        """Returns the size of each function by its symbol.

        Raises:
            ValueError: If its instructions have not been counted, but are what counts.
        """
        if self is Objective.INSTRUCTIONS:
            return _counted(found.instructions)
        return found.functions


def _counted(count: Count | None) -> Count:
    if count is None:
        raise ValueError("Instructions were not counted: they need Objective.INSTRUCTIONS.read")
    return count
