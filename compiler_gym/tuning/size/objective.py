"""The objectives of a search: the sizes that it minimises."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.object_file import ObjectFile, read_object, read_with_instructions

Size = TypeVar("Size")

_COUNTER = "Objective.INSTRUCTIONS.read"


class Objective(str, Enum):
    """The size that a search reduces.

    One of: the loaded bytes, the bytes of code, the loaded bytes of the linked program, or the
    number of machine instructions.
    """

    ALL = "all"
    TEXT = "text"
    LINKED = "linked"
    INSTRUCTIONS = "instructions"

    @property
    def unit(self) -> str:
        """The unit of sizes."""
        return "instructions" if self is Objective.INSTRUCTIONS else "bytes"

    @property
    def comparative(self) -> str:
        """The adjective for a lower size: ``"fewer"`` or ``"smaller"``."""
        return "fewer" if self is Objective.INSTRUCTIONS else "smaller"

    def read(self, path: Path) -> ObjectFile:
        """Reads the sizes of an object file.

        Raises:
            EnvironmentNotSupported: If a necessary tool is not installed.
            ValueError: If it is not an ELF file, or if disassembly is necessary and fails.
            OSError: If it cannot be read.
        """
        read = read_with_instructions if self is Objective.INSTRUCTIONS else read_object
        return read(path)

    def cost(self, evaluation: Evaluation) -> tuple[int, int]:
        """Returns the size of an object file, and a second size that breaks ties.

        Raises:
            ValueError: If the objective needs instructions that have not been counted, or a program
                that has not been linked.
        """
        found = evaluation.object
        if self is Objective.INSTRUCTIONS:
            return _known(found.instruction_count, _COUNTER), found.text
        if self is Objective.LINKED:
            linked = _known(evaluation.linked, "a linker")
            return linked.loaded, linked.file
        if self is Objective.TEXT:
            return found.text, evaluation.loaded
        return evaluation.loaded, found.text

    def size_of_sections(self, found: ObjectFile) -> int:
        """Returns the size of an object file, without additions by the linker.

        Raises:
            ValueError: If the objective needs instructions that have not been counted.
        """
        if self is Objective.INSTRUCTIONS:
            return _known(found.instruction_count, _COUNTER)
        return found.text if self is Objective.TEXT else found.all

    def of_functions(self, found: ObjectFile) -> Mapping[str, int]:
        """Returns the size of each function by its symbol: bytes of code, or instructions.

        Raises:
            ValueError: If the objective needs instructions that have not been counted.
        """
        if self is Objective.INSTRUCTIONS:
            return _known(found.instructions, _COUNTER)
        return found.functions

    def with_unwinding(self, found: ObjectFile) -> Mapping[str, int]:
        """Returns the size of each function, with its part of ``.eh_frame`` if that counts.

        Raises:
            ValueError: If the objective needs instructions that have not been counted.
        """
        sizes = self.of_functions(found)
        if self in (Objective.INSTRUCTIONS, Objective.TEXT):
            return sizes
        return {name: size + found.unwinding.get(name, 0) for name, size in sizes.items()}


def _known(size: Size | None, need: str) -> Size:
    if size is None:
        raise ValueError(f"The size is not known: the evaluator needs {need}")
    return size
