"""The service of the GCC environment. It takes the compiler from the environment variable CC."""

# Before NumPy, which would start threads.
from compiler_gym.service.runtime import create_and_run_compiler_gym_service

# isort: split
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from compiler_gym.envs.gcc.gcc import ASSEMBLY, OBJECT, RTL, Compilations, Gcc, Refused, get_gcc
from compiler_gym.envs.gcc.options import LARGEST
from compiler_gym.envs.gcc.spec import GccSpec, get_spec
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.service import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    ByteSequenceSpace,
    ByteTensor,
    Event,
    Int64Box,
    Int64Range,
    Int64Tensor,
    NamedDiscreteSpace,
    ObservationSpace,
    Space,
    StringSpace,
)
from compiler_gym.util.filesystem import file_of_uri

# Observations of programs that GCC compiles.

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
            :class:`~compiler_gym.envs.gcc.gcc.Compilations`.
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


DEFAULT_TIMEOUT = 60.0
"""Seconds that a compilation may take. The environment counts on it."""

# Session parameters.
CHOICES, SPEC, TIMEOUT = "choices", "gcc_spec", "timeout"


class GccSession(CompilationSession):
    """Compiles C programs with a GCC whose options are chosen one by one.

    The compiler is that of the environment variable CC: a name, a path or docker:IMAGE; gcc by
    default.
    """

    gcc: ClassVar[Gcc]
    spec: ClassVar[GccSpec]
    observations: ClassVar[Mapping[str, Observation]]

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        source = _source_of(benchmark)
        self._source = source.decode(errors="replace")
        self._timeout: float | None = DEFAULT_TIMEOUT
        self._choices = [-1] * len(self.spec.options)
        self._compilations = Compilations(self.gcc, source, working_directory)
        self._compilations.check(self._timeout)

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        """Changes the value of an option. Nothing is compiled before an observation needs it."""
        actions = self.spec.actions
        number = action.int64_value
        if action.WhichOneof("value") != "int64_value" or not 0 <= number < len(actions):
            raise Refused(f"Not an action from 0 to {len(actions) - 1}: {str(action).strip()}")
        chosen = actions[number]
        before = self._choices[chosen.option]
        value = chosen.apply(self._choices, self.spec.options)
        self._choices[chosen.option] = value
        return False, None, value == before

    def get_observation(self, observation_space: ObservationSpace) -> Event:
        """Computes an observation; compiles the program unless that has been done.

        Raises:
            ServiceError: If the compiler cannot compile the program with these options.
            TimeoutError: If it takes too long.
        """
        options = self.spec.words_of(self._choices)
        arguments = self._compilations.arguments(OBJECT, options)

        def compiled_with(kind: str, options: Sequence[str]) -> bytes:
            return self._compilations.compile(kind, options, self._timeout)

        state = State(
            source=self._source,
            choices=self._choices,
            command_line=" ".join(["gcc", *arguments]),
            compiled=lambda kind: compiled_with(kind, options),
            compiled_with=compiled_with,
        )
        return self.observations[observation_space.name].compute(state)

    def handle_session_parameter(self, key: str, value: str) -> str | None:
        """Sets the choices or the time limit, or tells the options as JSON."""
        if key == CHOICES:
            self._choices = _choices_in(value, self.spec)
            return value
        if key == TIMEOUT:
            self._timeout = _seconds_in(value)
            return value
        if key == SPEC:
            return json.dumps(self.spec.to_json())
        return None

    def holds_only_memory(self) -> bool:
        """Between requests it has no files of its own."""
        return True


def make_session_type(gcc: Gcc, spec: GccSpec) -> type[GccSession]:
    """Returns a class of sessions for a compiler and its options."""
    observations = observations_of(spec)
    names = [action.name for action in spec.actions]
    attributes = {
        "__doc__": GccSession.__doc__,
        "gcc": gcc,
        "spec": spec,
        "observations": observations,
        "compiler_version": spec.version,
        "action_spaces": (
            ActionSpace(name="default", space=Space(named_discrete=NamedDiscreteSpace(name=names))),
        ),
        "observation_spaces": [observation.space for observation in observations.values()],
    }
    return type("GccSession", (GccSession,), attributes)


def _source_of(benchmark: Benchmark) -> bytes:
    """The program of a benchmark: its contents, or those of the file that it names.

    Raises:
        Refused: If it has neither.
        FileNotFoundError: If there is no such file.
    """
    program = benchmark.program
    if program.WhichOneof("data") == "contents":
        return program.contents
    try:
        return file_of_uri(program.uri).read_bytes()
    except ValueError as error:
        raise Refused(f"Benchmark {benchmark.uri} has no program: {error}") from None


def _choices_in(text: str, spec: GccSpec) -> list[int]:
    try:
        choices = [int(number) for number in text.split(",")]
    except ValueError:
        raise Refused(
            f"{CHOICES} must be whole numbers with commas between, one for each option, not "
            f"{text[:100]!r}"
        ) from None
    try:
        spec.check_choices(choices)
    except ValueError as error:
        raise Refused(str(error)) from None
    return choices


def _seconds_in(text: str) -> float | None:
    try:
        seconds = float(text) if text else None
    except ValueError:
        seconds = math.nan
    if seconds is not None and not 0 < seconds < math.inf:
        raise Refused(
            f"{TIMEOUT} must be a number of seconds above 0, or empty for no limit, not {text!r}"
        )
    return seconds


def main() -> None:
    """Runs the service until it is told to end."""
    try:
        gcc = get_gcc()
        session_type = make_session_type(gcc, get_spec(gcc))
    except EnvironmentNotSupported as error:
        sys.exit(str(error))
    create_and_run_compiler_gym_service(session_type)


if __name__ == "__main__":
    main()
