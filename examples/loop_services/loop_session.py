"""A compiler whose actions are decisions about loops: what clang and opt are told."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.service import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    DoubleRange,
    Event,
    Int64Range,
    ObservationSpace,
    Space,
    StringSpace,
)
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command

SECONDS = 60  # For any command.
RUNS = 3

AT_LEAST_0 = Int64Range(min=0)


def number_space(name: str) -> ObservationSpace:
    """A space of a count that is the same each time."""
    return ObservationSpace(
        name=name,
        space=Space(int64_value=AT_LEAST_0),
        deterministic=True,
        default_observation=Event(int64_value=0),
    )


class LoopSession(CompilationSession):
    """A program in C. Subclasses say which options of opt there are to choose from.

    Attributes:
        choices: What each action runs: options of opt. LLVM unrolls a loop once at most.
    """

    compiler_version = llvm_tools.tool_version(llvm_tools.opt_path()).splitlines()[0]
    choices: Sequence[Sequence[str]] = ()
    observation_spaces = (
        ObservationSpace(
            name="ir",
            space=Space(string_value=StringSpace(length_range=AT_LEAST_0)),
            deterministic=True,
            default_observation=Event(string_value=""),
        ),
        number_space("instructions"),
        number_space("size"),  # The code of the object file, in bytes.
        ObservationSpace(  # The shortest of some runs, in seconds.
            name="runtime",
            space=Space(double_value=DoubleRange(min=0)),
            platform_dependent=True,
            default_observation=Event(double_value=0),
        ),
    )

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        clang = [
            llvm_tools.clang_path(),
            "-O2",
            "-Xclang",
            "-disable-llvm-passes",
            "-S",
            "-emit-llvm",
        ]
        try:
            ir = self._run([*clang, "-xc", "-", "-o", "-"], benchmark.program.contents.decode())
        except CommandError as error:
            raise ValueError(f"Not a program in C: {error}") from error
        self.ir = self._opt(ir, "-passes=function(sroa,loop-simplify,loop(loop-rotate))")

    @staticmethod
    def _run(command: Sequence[str | Path], stdin: str = "") -> str:
        return run_command(command, SECONDS, stdin=stdin).stdout

    def _opt(self, ir: str, *options: str) -> str:
        # The name of the module is that of the file, which is the standard input each time.
        return self._run([llvm_tools.opt_path(), "-S", *options, "-", "-o", "-"], ir)

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        """Does as the base class says."""
        if action.WhichOneof("value") != "int64_value" or not (
            0 <= action.int64_value < len(self.choices)
        ):
            raise ValueError(f"Not an action from 0 to {len(self.choices) - 1}: {action}")
        before = self.ir
        self.ir = self._opt(before, *self.choices[action.int64_value])
        return False, None, self.ir == before

    def get_observation(self, observation_space: ObservationSpace) -> Event:
        """Does as the base class says."""
        if observation_space.name == "ir":
            return Event(string_value=self.ir)
        if observation_space.name == "instructions":
            lines = [line for line in self.ir.splitlines() if line.startswith("  ")]
            return Event(int64_value=len(lines))
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            if observation_space.name == "size":
                return Event(int64_value=self._size(Path(folder)))
            return Event(double_value=self._runtime(Path(folder)))

    def _build(self, output: Path, *options: str) -> None:
        clang = [llvm_tools.clang_path(), "-O2", "-Xclang", "-disable-llvm-passes", *options]
        self._run([*clang, "-xir", "-", "-lm", "-o", output], self.ir)

    def _size(self, folder: Path) -> int:
        self._build(folder / "program.o", "-c", "-Wno-unused-command-line-argument")
        table = self._run([llvm_tools.llvm_size_path(), folder / "program.o"])
        return int(table.splitlines()[1].split()[0])

    def _runtime(self, folder: Path) -> float:
        self._build(folder / "a.out")
        seconds = []
        for _ in range(RUNS):
            begin = time.monotonic()
            subprocess.run([folder / "a.out"], stdout=subprocess.DEVNULL, timeout=SECONDS)
            seconds.append(time.monotonic() - begin)
        return min(seconds)
