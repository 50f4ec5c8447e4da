"""The action space of the MLIR environment: passes, and the command lines of ``mlir-opt``."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from typing_extensions import override

from compiler_gym.spaces import Commandline, CommandlineFlag
from compiler_gym.spaces.named_discrete import not_in_space

_MLIR_OPT = re.compile(r"mlir-opt(-\d+)?")
_PIPELINE_OPTION = "-pass-pipeline="
_MODULE = re.compile(r"builtin\.module\((.*)\)", re.DOTALL)
_PRELOAD = "transform-preload-library"
_INTERPRETER = "transform-interpreter"


class MlirCommandline(Commandline):
    """The integers 0 to n - 1, each of them one pass of MLIR.

    The flag of an action is the pass in the words of ``mlir-opt -pass-pipeline``.

    Args:
        items: The actions.
        name: The name of the space.
        library: The file with the transforms that actions call.
        seed: Of random actions.
    """

    def __init__(
        self,
        items: Iterable[CommandlineFlag],
        name: str | None = None,
        library: Path | str = "mlir-library.mlir",
        seed: int | np.random.Generator | None = None,
    ):
        super().__init__(items, name=name, prefix="mlir-opt-22", suffix="kernel.mlir", seed=seed)
        self._library = library

    @override
    def with_items(self, items: Iterable[CommandlineFlag], name: str | None) -> "MlirCommandline":
        return type(self)(items, name=name, library=self._library)

    @override
    def to_string(self, values: int | Iterable[int]) -> str:
        """Returns the command line of mlir-opt that is equivalent to a list of actions.

        It reads ``kernel.mlir``, the program of the benchmark, and prints what the observation
        ``Ir`` is after the actions.

        Raises:
            IndexError: If a value is not in the space.
        """
        passes = [self.flags[value] for value in self._checked_list(values)]
        if any(each.startswith(_INTERPRETER) for each in passes):
            passes.insert(0, f"{_PRELOAD}{{transform-library-paths={self._library}}}")
        pipeline = f"{_PIPELINE_OPTION}builtin.module({','.join(passes)})"
        return f"{self.prefix} {shlex.quote(pipeline)} {self.suffix}"

    @override
    def from_string(self, text: str) -> list[int]:
        """Returns the actions of a command line of mlir-opt: undoes :meth:`to_string`.

        Understands any path of mlir-opt and of the library, any name of the file, the pipeline
        alone, and names of actions.

        Raises:
            UnknownNameError: If a part of it is not an action. The text names similar ones.
            ValueError: If quotes or brackets do not match.
        """
        words = shlex.split(text)
        if words and _MLIR_OPT.fullmatch(words[0].rpartition("/")[2]):
            words = [word for word in words[1:] if not word.endswith(".mlir")]
        actions: list[int] = []
        for word in words:
            for element in _elements(word.lstrip("-").removeprefix(_PIPELINE_OPTION[1:])):
                if not element.startswith(_PRELOAD):
                    actions.append(self._action_of(element))
        return actions

    def _action_of(self, element: str) -> int:
        if element not in self._indices:
            raise not_in_space(element, self.name, [*self.names, *self.flags])
        return self._indices[element]


def _elements(text: str) -> Iterator[str]:
    """Yields the passes of a pipeline. Raises ValueError if brackets do not match."""
    module = _MODULE.fullmatch(text)
    text = module[1] if module else text
    depth = begin = 0
    for i, character in enumerate(text):
        depth += (character in "({<") - (character in ")}>")
        if depth < 0:
            break
        if character == "," and depth == 0:
            yield text[begin:i]
            begin = i + 1
    if depth != 0:
        raise ValueError(f"Brackets do not match in {text!r}")
    if text[begin:]:
        yield text[begin:]
