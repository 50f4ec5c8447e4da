"""Observations of programs that GCC compiles."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler_gym.envs.gcc.options import LARGEST
from compiler_gym.envs.gcc.service.compilations import ASSEMBLY, OBJECT, RTL
from compiler_gym.envs.gcc.spec import GccSpec
from compiler_gym.service.proto import (
    ByteSequenceSpace,
    ByteTensor,
    Event,
    Int64Box,
    Int64Range,
    Int64Tensor,
    ObservationSpace,
    Space,
    StringSpace,
)

# The first word of each line of assembly that is no label: instructions and directives.
_MNEMONIC = re.compile(r"^[ \t]+([.\w]+)", re.MULTILINE)

_ANY_LENGTH = Int64Range(min=0, max=LARGEST)
_TEXT = Space(string_value=StringSpace(length_range=_ANY_LENGTH))
_HASH = Space(string_value=StringSpace(length_range=Int64Range(min=0, max=200)))
_SIZE = Space(int64_value=Int64Range(min=-1))
_BYTES = Space(byte_sequence=ByteSequenceSpace(length_range=_ANY_LENGTH))
_NO_TEXT = Event(string_value="")
_NO_SIZE = Event(int64_value=-1)
_NO_BYTES = Event(byte_tensor=ByteTensor(shape=[0]))


@dataclass(frozen=True)
class State:
    """A program and the command that compiles it.

    Attributes:
        source: The program.
        choices: The value of each option.
        command_line: How the object file is made.
        compiled: Compiles the program as it is to be; given a kind of
            :class:`~compiler_gym.envs.gcc.service.compilations.Compilations`.
        compiled_with: Compiles it with some options instead.
    """

    source: str
    choices: Sequence[int]
    command_line: str
    compiled: Callable[[str], bytes]
    compiled_with: Callable[[str, Sequence[str]], bytes]


def _text(data: bytes | str) -> Event:
    return Event(string_value=data if isinstance(data, str) else data.decode(errors="replace"))


def _size(data: bytes) -> Event:
    return Event(int64_value=len(data))


def _hash(data: bytes) -> Event:
    return Event(string_value=hashlib.md5(data, usedforsecurity=False).hexdigest())


def _bytes(data: bytes) -> Event:
    return Event(byte_tensor=ByteTensor(shape=[len(data)], value=data))


def _counts(data: bytes) -> Event:
    counts = Counter(_MNEMONIC.findall(data.decode(errors="replace")))
    return Event(string_value=json.dumps(counts, sort_keys=True))


def _tensor(values: Sequence[int]) -> Int64Tensor:
    return Int64Tensor(shape=[len(values)], value=values)


Compute = Callable[[State], Event]


@dataclass(frozen=True)
class Observation:
    """An observation.

    Attributes:
        space: Its space.
        compute: Computes it.
    """

    space: ObservationSpace
    compute: Compute


def _observation(
    name: str, space: Space, default: Event, compute: Compute, platform_dependent: bool = True
) -> Observation:
    message = ObservationSpace(
        name=name,
        space=space,
        deterministic=True,
        platform_dependent=platform_dependent,
        default_observation=default,
    )
    return Observation(message, compute)


def _baseline(kind: str, level: str) -> Observation:
    """The size of the result with one level of optimisation and no other option."""
    return _observation(
        f"{kind}_size_{level}",
        _SIZE,
        _NO_SIZE,
        lambda state: _size(state.compiled_with(kind, [f"-{level}"])),
    )


def observations_of(spec: GccSpec) -> dict[str, Observation]:
    """Returns the observations by name, for a compiler with some options."""
    choices = Space(
        int64_box=Int64Box(
            low=_tensor([-1] * len(spec.options)),
            high=_tensor([len(option) - 1 for option in spec.options]),
        )
    )
    nothing = Event(int64_tensor=_tensor([-1] * len(spec.options)))
    observations = [
        _observation("source", _TEXT, _NO_TEXT, lambda state: _text(state.source), False),
        _observation("rtl", _TEXT, _NO_TEXT, lambda state: _text(state.compiled(RTL))),
        _observation("asm", _TEXT, _NO_TEXT, lambda state: _text(state.compiled(ASSEMBLY))),
        _observation("asm_size", _SIZE, _NO_SIZE, lambda state: _size(state.compiled(ASSEMBLY))),
        _observation("asm_hash", _HASH, _NO_TEXT, lambda state: _hash(state.compiled(ASSEMBLY))),
        _observation(
            "instruction_counts",
            _TEXT,
            _NO_TEXT,
            lambda state: _counts(state.compiled(ASSEMBLY)),
        ),
        _observation("obj", _BYTES, _NO_BYTES, lambda state: _bytes(state.compiled(OBJECT))),
        _observation("obj_size", _SIZE, _NO_SIZE, lambda state: _size(state.compiled(OBJECT))),
        _observation("obj_hash", _HASH, _NO_TEXT, lambda state: _hash(state.compiled(OBJECT))),
        _observation(
            "choices",
            choices,
            nothing,
            lambda state: Event(int64_tensor=_tensor(state.choices)),
            False,
        ),
        _observation("command_line", _TEXT, _NO_TEXT, lambda state: _text(state.command_line)),
        *(_baseline(kind, level) for kind in (ASSEMBLY, OBJECT) for level in ("O0", "Os")),
    ]
    return {observation.space.name: observation for observation in observations}
