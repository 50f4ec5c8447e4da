"""A compiler in seventy lines, as a service. ../service_cc/ is the same in C++."""

import re
from pathlib import Path

from compiler_gym.service import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    DoubleRange,
    Event,
    Int64Box,
    Int64Range,
    Int64Tensor,
    NamedDiscreteSpace,
    ObservationSpace,
    Space,
    StringSpace,
)
from compiler_gym.service.runtime import create_and_run_compiler_gym_service

Program = list[tuple[str, int]]
LARGEST = 2**31 - 1  # Constants must be from -LARGEST to LARGEST.


def parse(text: str) -> Program:
    """Reads lines like `add 3` and `mul -2`. All change the same number."""
    program = []
    for line in text.splitlines():
        match = re.fullmatch(r"(add|mul) (-?[0-9]+)", line)
        if match is None:
            raise ValueError(f"Not an instruction: {line}")
        program.append((match[1], int(match[2])))
    return program


def drop(program: Program) -> Program:
    """Action a: removes instructions without effect."""
    return [instruction for instruction in program if instruction not in (("add", 0), ("mul", 1))]


def join(program: Program) -> Program:
    """Action b: merges neighbours of the same kind."""
    joined: Program = []
    for name, number in program:
        if joined and joined[-1][0] == name:
            last = joined[-1][1]
            result = last + number if name == "add" else last * number
            if abs(result) <= LARGEST:
                joined[-1] = (name, result)
                continue
        joined.append((name, number))
    return joined


def swap(program: Program) -> Program:
    """Action c: moves multiplications before additions."""
    swapped = list(program)
    for i in range(len(swapped) - 1):
        (first, addend), (second, factor) = swapped[i : i + 2]
        if (first, second) == ("add", "mul") and abs(addend * factor) <= LARGEST:
            swapped[i : i + 2] = [("mul", factor), ("add", addend * factor)]
    return swapped


ACTIONS = {"a": drop, "b": join, "c": swap}
AT_LEAST_0 = Int64Range(min=0)


class ExampleSession(CompilationSession):
    """Optimises programs that add and multiply."""

    compiler_version = "example 1.0"
    action_spaces = (
        ActionSpace(
            name="default", space=Space(named_discrete=NamedDiscreteSpace(name=list(ACTIONS)))
        ),
    )
    observation_spaces = (
        ObservationSpace(
            name="ir",
            space=Space(string_value=StringSpace(length_range=AT_LEAST_0)),
            deterministic=True,
            default_observation=Event(string_value=""),
        ),
        # The numbers of instructions, additions and multiplications.
        ObservationSpace(
            name="features",
            space=Space(
                int64_box=Int64Box(
                    low=Int64Tensor(shape=[3], value=[0] * 3),
                    high=Int64Tensor(shape=[3], value=[LARGEST] * 3),
                )
            ),
            deterministic=True,
            default_observation=Event(int64_tensor=Int64Tensor(shape=[3], value=[0] * 3)),
        ),
        # Cycles on an imaginary machine.
        ObservationSpace(
            name="runtime",
            space=Space(double_value=DoubleRange(min=0)),
            deterministic=True,
            default_observation=Event(double_value=0),
        ),
    )

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        self.program = parse(benchmark.program.contents.decode())

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        """Implements the method of the base class."""
        if action.WhichOneof("value") != "int64_value" or action.int64_value not in range(3):
            raise ValueError(f"Not an action from 0 to 2: {str(action).strip()}")
        before = self.program
        self.program = list(ACTIONS.values())[action.int64_value](before)
        return False, None, self.program == before

    def get_observation(self, observation_space: ObservationSpace) -> Event:
        """Implements the method of the base class."""
        names = [name for name, _ in self.program]
        adds, muls = names.count("add"), names.count("mul")
        if observation_space.name == "ir":
            return Event(string_value="".join(f"{name} {n}\n" for name, n in self.program))
        if observation_space.name == "features":
            return Event(int64_tensor=Int64Tensor(shape=[3], value=[len(names), adds, muls]))
        return Event(double_value=adds + 3 * muls)


if __name__ == "__main__":
    create_and_run_compiler_gym_service(ExampleSession)
