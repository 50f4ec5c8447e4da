"""Compilations by a stock clang whose register allocator is answered through two FIFOs."""

import json
import math
import os
import select
import struct
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from compiler_gym.envs.llvm.regalloc.decisions import (
    EvictionDecision,
    PriorityDecision,
    UnitDecisions,
)
from compiler_gym.util.commands import CommandError, Popen

_POLL_SECONDS = 0.02
_BYTES = {"int64_t": 8, "int32_t": 4, "float": 4}
_EVICTION_OPTIONS = (
    *("-mllvm", "-regalloc-enable-advisor=release"),
    *("-mllvm", "-regalloc-evict-interactive-channel-base={}"),
)
_PRIORITY_OPTIONS = (
    *("-mllvm", "-regalloc-enable-priority-advisor=release"),
    *("-mllvm", "-regalloc-priority-interactive-channel-base={}"),
)


class OtherQuestionsError(ValueError):
    """The register allocator asks other questions than those that are answered."""


def compile_with_decisions(command: Sequence[str | Path], decisions: UnitDecisions) -> None:
    """Runs clang, and answers the questions of its register allocator.

    Args:
        command: The command, which compiles one source to an object file.
        decisions: The answers.

    Raises:
        OtherQuestionsError: If the questions differ from those that are answered.
        CommandError: If clang reports errors. An LLVM before 22 does not know the options.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        base = f"{folder}/channel"
        for end in (".in", ".out"):
            os.mkfifo(base + end)
        # This process opens both ends of both: so nobody waits if clang ends early.
        answers = os.open(base + ".in", os.O_RDWR)
        questions = os.open(base + ".out", os.O_RDWR | os.O_NONBLOCK)
        errors = Path(folder, "errors")
        is_priority = decisions.is_about_priorities
        options = _PRIORITY_OPTIONS if is_priority else _EVICTION_OPTIONS
        player = _PriorityPlayer(decisions) if is_priority else _EvictionPlayer(decisions)
        try:
            with errors.open("wb") as file:
                words = [*map(str, command), *(word.format(base) for word in options)]
                with Popen(words, stderr=file) as clang:
                    _answer(clang, questions, answers, player)
            if clang.returncode:
                raise CommandError(clang.returncode, words, stderr=errors.read_bytes())
        finally:
            os.close(answers)
            os.close(questions)


def _answer(
    clang: "subprocess.Popen[bytes]", questions: int, answers: int, player: "_Player"
) -> None:
    """Answers until clang has ended."""
    has_ended = False
    while True:
        if select.select([questions], [], [], 0 if has_ended else _POLL_SECONDS)[0]:
            for each in player.take(os.read(questions, 1 << 16)):
                os.write(answers, each)
        elif has_ended:
            break
        else:
            has_ended = clang.poll() is not None
    if not clang.returncode:
        player.check_end()


class _Player(ABC):
    """Understands what the allocator sends, and knows the answers."""

    feature: ClassVar[str]
    """The name of the feature that shows whether a question is the expected one."""

    def __init__(self, decisions: UnitDecisions):
        self._left = {name: [*each] for name, each in decisions.functions.items()}
        self._counts = {name: len(each) for name, each in decisions.functions.items()}
        self._received = b""
        self._features: dict[str, tuple[int, int]] = {}
        self._function = ""

    def take(self, data: bytes) -> list[bytes]:
        """Takes bytes that the allocator has sent, and returns the answers to its questions.

        Raises:
            OtherQuestionsError: If it asks something else.
        """
        self._received += data
        answers = []
        while b"\n" in self._received:
            line, _, rest = self._received.partition(b"\n")
            message = json.loads(line)
            if "observation" in message:
                size = sum(length for length, _ in self._features.values())
                if len(rest) <= size:
                    break
                answers.append(self._decided(rest[:size]))
                rest = rest[size + 1 :]
            elif "context" in message:
                self._function = message["context"]
            elif "features" in message:
                self._features = dict(map(_feature, message["features"]))
            self._received = rest
        return answers

    def check_end(self) -> None:
        """Checks that all answers were asked for.

        Raises:
            OtherQuestionsError: If some were not.
        """
        for name, left in self._left.items():
            if left:
                count = self._counts[name]
                raise OtherQuestionsError(
                    f"expected {count} questions about {name}, got {count - len(left)}"
                )

    @abstractmethod
    def _encoded(self, decision: Any, values: tuple[int, ...], where: str) -> bytes:
        """Returns the answer to a question.

        Args:
            decision: The decision.
            values: The values of the feature.
            where: The question, for errors.

        Raises:
            OtherQuestionsError: If the decision is for another question.
        """

    def _decided(self, tensors: bytes) -> bytes:
        begin = 0
        for name, (length, count) in self._features.items():
            if name == self.feature:
                values = struct.unpack(f"<{count}q", tensors[begin : begin + length])
                break
            begin += length
        else:
            raise OtherQuestionsError(f"expected a feature named {self.feature}, got none")
        left = self._left.get(self._function)
        number = self._counts.get(self._function, 0) - len(left or ())
        where = f"question {number} about {self._function}"
        if not left:
            raise OtherQuestionsError(f"expected no {where}, got one")
        return self._encoded(left.pop(0), values, where)


class _EvictionPlayer(_Player):
    feature = "mask"

    @override
    def _encoded(self, decision: EvictionDecision, values: tuple[int, ...], where: str) -> bytes:
        legal = tuple(i for i, is_legal in enumerate(values) if is_legal)
        if legal != decision.legal:
            raise OtherQuestionsError(
                f"{where}: expected the candidates {_text(decision.legal)}, got {_text(legal)}"
            )
        return struct.pack("<q", decision.chosen)


class _PriorityPlayer(_Player):
    feature = "li_size"

    @override
    def _encoded(self, decision: PriorityDecision, values: tuple[int, ...], where: str) -> bytes:
        if values != (decision.size,):
            raise OtherQuestionsError(
                f"{where}: expected a live range of size {decision.size}, got {_text(values)}"
            )
        return struct.pack("<f", decision.priority)


def _feature(spec: dict[str, Any]) -> tuple[str, tuple[int, int]]:
    """Returns the name of a feature, its bytes, and the number of its values."""
    count = math.prod(spec["shape"])
    return spec["name"], (_BYTES[spec["type"]] * count, count)


def _text(values: Sequence[int]) -> str:
    return " ".join(map(str, values))
