"""The objectives of a search: the sizes that it minimises.

Bytes of shared functions
=========================

An object file may have functions of which the linker keeps one copy, whatever number of object
files has them: inline functions and templates of C++, in COMDAT groups. The sum of the object files
says nothing about these. A search of one object file therefore counts them like this, with ``b``
for the size of a group in clang's object file, and ``a`` for its size now:

- A group counts ``max(a, b)``. Where it became smaller or is gone, another object file may still
  have all of it, so nothing is saved. Where it became larger, the linker may keep this copy.
- A group that clang's object file does not have counts ``a``.
- Of two results of the same size, the one with less code is the better. So shared functions become
  smaller where that costs nothing else.
- A group that is known to be in no other object file counts ``a``, as all other sections do.
- The size of a linked program is measured, so nothing is added to it.

The size of a group is that of its sections, of the entries of its functions in ``.eh_frame``, and
of the index of these entries if the object file is linked alone.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.memory_regions import MemoryUse
from compiler_gym.tuning.size.object_file import (
    ObjectFile,
    Shared,
    read_object,
    read_with_instructions,
)
from compiler_gym.tuning.size.trial_linking import LinkedSize

Size = TypeVar("Size")

_COUNTER = "Objective.INSTRUCTIONS.read"

# The bytes of an entry of ``.eh_frame_hdr``, which linkers make.
_INDEX_ENTRY = 8

_NOTHING = Shared()
_MISSING = "The size is not known: the evaluator needs {}"


class Objective(str, Enum):
    """The size that a search reduces.

    One of: the loaded bytes, the bytes of code, the loaded bytes of the linked program, what the
    linked program uses of a region of memory, or the number of machine instructions.
    """

    ALL = "all"
    TEXT = "text"
    LINKED = "linked"
    REGION = "region"
    INSTRUCTIONS = "instructions"

    @property
    def unit(self) -> str:
        """The unit of sizes."""
        return "instructions" if self is Objective.INSTRUCTIONS else "bytes"

    @property
    def is_linked(self) -> bool:
        """True if it is about the linked program."""
        return self in (Objective.LINKED, Objective.REGION)

    @property
    def comparative(self) -> str:
        """The adjective for a lower size: ``"fewer"`` or ``"smaller"``."""
        return "fewer" if self is Objective.INSTRUCTIONS else "smaller"

    def read(self, path: Path, sole: Collection[str] = ()) -> ObjectFile:
        """Reads the sizes of an object file.

        Args:
            path: The object file.
            sole: The signatures of groups that no other object file has.

        Raises:
            EnvironmentNotSupported: If a necessary tool is not installed.
            ValueError: If it is not an ELF file, or if disassembly is necessary and fails.
            OSError: If it cannot be read.
        """
        read = read_with_instructions if self is Objective.INSTRUCTIONS else read_object
        found = read(path)
        if not sole:
            return found
        shared = {name: it for name, it in found.shared.items() if name not in sole}
        return replace(found, shared=shared)

    def cost(self, evaluation: Evaluation, baseline: Evaluation | None = None) -> tuple[int, int]:
        """Returns the size of an object file, and a second size that breaks ties.

        Args:
            evaluation: The object file.
            baseline: That of clang, whose shared functions count as kept. None for itself.

        Raises:
            ValueError: If the objective needs instructions that have not been counted, or a program
                that has not been linked.
        """
        found = evaluation.object
        if self.is_linked:
            return _linked_cost(evaluation.linked, (baseline or evaluation).linked)
        kept = 0 if baseline is None else self._kept_elsewhere(evaluation, baseline)
        if self is Objective.INSTRUCTIONS:
            return _known(found.instruction_count, _COUNTER) + kept, found.text
        if self is Objective.TEXT:
            return found.text + kept, evaluation.loaded
        return evaluation.loaded + kept, found.text

    def _kept_elsewhere(self, evaluation: Evaluation, baseline: Evaluation) -> int:
        """Returns what shared functions are smaller by, since other object files may have them."""
        found, before = evaluation.object, baseline.object
        index = _INDEX_ENTRY if evaluation.alone else 0
        return sum(
            max(
                0,
                self._of_shared(each, before, index)
                - self._of_shared(found.shared.get(name, _NOTHING), found, index),
            )
            for name, each in before.shared.items()
        )

    def _of_shared(self, shared: Shared, found: ObjectFile, index: int) -> int:
        if self is Objective.INSTRUCTIONS:
            counts = _known(found.instructions, _COUNTER)
            return sum(counts.get(name, 0) for name in shared.functions)
        return shared.text if self is Objective.TEXT else shared.all + index * shared.entries

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

    def with_unwinding(
        self, found: ObjectFile, baseline: ObjectFile | None = None
    ) -> Mapping[str, int]:
        """Returns the size of each function, with its parts of outlined code and ``.eh_frame``.

        The latter is only a part if it counts.

        Args:
            found: The object file.
            baseline: That of clang: shared functions that only it has count as kept. None if those
                that are gone are saved.

        Raises:
            ValueError: If the objective needs instructions that have not been counted.
        """
        sizes = self.of_functions(found)
        if found.outlined and self is not Objective.INSTRUCTIONS:
            sizes = {name: size + found.outlined.get(name, 0) for name, size in sizes.items()}
        if self not in (Objective.INSTRUCTIONS, Objective.TEXT):
            sizes = {name: size + found.unwinding.get(name, 0) for name, size in sizes.items()}
        if baseline is None or self.is_linked:
            return sizes
        shared = (name for each in baseline.shared.values() for name in each.functions)
        gone = [name for name in shared if name not in sizes]
        if not gone:
            return sizes
        before = self.with_unwinding(baseline)
        return {**sizes, **{name: before[name] for name in gone}}


def _linked_cost(
    linked: LinkedSize | MemoryUse | None, before: LinkedSize | MemoryUse | None
) -> tuple[int, int]:
    if linked is None:
        raise ValueError(_MISSING.format("a linker"))
    if before and linked.guarded > before.guarded:
        return before.counted + linked.guarded - before.guarded, linked.rest
    return linked.counted, linked.rest


def _known(size: Size | None, need: str) -> Size:
    if size is None:
        raise ValueError(_MISSING.format(need))
    return size
