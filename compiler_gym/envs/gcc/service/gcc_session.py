"""One program under compilation by a GCC."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.envs.gcc.service.compilations import OBJECT, Compilations
from compiler_gym.envs.gcc.service.observations import Observation, State, observations_of
from compiler_gym.envs.gcc.service.refusals import Refused
from compiler_gym.envs.gcc.spec import GccSpec
from compiler_gym.service import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    Event,
    NamedDiscreteSpace,
    ObservationSpace,
    Space,
)

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
    url = urlsplit(program.uri)
    if url.scheme != "file" or not url.path:
        raise Refused(
            f"Benchmark {benchmark.uri} has no program: contents, or the name of a file as "
            f"file:///path, not {program.uri!r}"
        )
    path = Path(url.path)
    return (path if path.exists() else Path(unquote(url.path))).read_bytes()


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
