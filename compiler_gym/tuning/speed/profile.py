"""Profiles of runs: how often each part of a program is executed."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.tuning.speed.workload import RunError, Workload
from compiler_gym.util import llvm_tools
from compiler_gym.util.started_programs import run_started

_SECONDS = 600

COUNTS = "-pgo-test-profile-file"
"""The option of LLVM for the executions of blocks of the unoptimised program."""

USE_COUNTS = "pgo-instr-use"
"""The pass that reads them."""


@dataclass(frozen=True)
class Loop:
    """A loop of a source, with its share of a run.

    Attributes:
        index: The number of the loop in the module.
        function: The function that the source has it in.
        is_innermost: True if it has no loops inside.
        work: The executed instructions outside of inner loops, before any optimisation.
    """

    index: int
    function: str
    is_innermost: bool
    work: float


@dataclass(frozen=True)
class Profile:
    """The executed parts of a program.

    Attributes:
        loops: All loops that were executed, those with the most work first.
        calls: The number of executions of each call that can be inlined, by its number.
        counts: The file with the executions of the unoptimised blocks; None without a profile.
        trained: The file for ``-fprofile-use``; None without a profile.
    """

    loops: tuple[Loop, ...] = ()
    calls: Mapping[int, int] = field(default_factory=dict)
    counts: Path | None = None
    trained: Path | None = None

    @property
    def work(self) -> float:
        """The executed instructions of all loops."""
        return sum(each.work for each in self.loops)


NO_PROFILE = Profile()


def collect_profile(
    compilation: Compilation, unit: Path, workload: Workload, target: Path
) -> Profile:
    """Runs instrumented programs, and returns what they executed.

    Takes about as long as two compilations and a few runs.

    Args:
        compilation: The compilation of the source. It has a plugin.
        unit: The unoptimised bitcode of the source.
        workload: Links and runs the program.
        target: The object file. The names of profiles are its name with ``.profdata`` and
            ``.counts`` at the end.

    Returns:
        The profile; nothing if the program cannot be instrumented, for example because clang has
        no profiling library for the target.
    """
    counts, trained = counts_path(target), trained_path(target)
    try:
        _write_counts(compilation, unit, workload, counts)
        loops = _facts("list-loops", compilation, unit, counts)
        calls = _facts("list-call-sites", compilation, unit, counts)
        train(compilation, unit, workload, trained)
    except (
        EnvironmentNotSupported,
        subprocess.SubprocessError,
        LinkError,
        RunError,
        OSError,
    ):
        return NO_PROFILE
    executed = [
        Loop(each["index"], each["function"], each["innermost"], each["work"])
        for each in loops
        if each.get("work", 0) > 0
    ]
    executed.sort(key=lambda loop: (-loop.work, loop.index))
    executions = {each["index"]: each.get("count", 0) for each in calls}
    return Profile(tuple(executed), executions, counts, trained)


def option_of_counts(counts: Path) -> str:
    """Returns the option for a file of executions."""
    return f"{COUNTS}={counts}"


def counts_path(target: Path) -> Path:
    """Returns the path of the executions of blocks that belongs to an object file."""
    return target.with_name(f"{target.name}.counts").absolute()


def trained_path(target: Path) -> Path:
    """Returns the path of the profile that belongs to an object file."""
    return target.with_name(f"{target.name}.profdata").absolute()


def train(compilation: Compilation, unit: Path, workload: Workload, profile: Path) -> None:
    """Writes a profile for ``-fprofile-use``, as a user of ``-fprofile-generate`` makes it.

    Args:
        compilation: The compilation of the source.
        unit: The unoptimised bitcode of the source.
        workload: Links and runs the program.
        profile: The file to write.

    Raises:
        subprocess.SubprocessError: If a tool fails.
        LinkError: If the instrumented program does not link.
        RunError: If it fails.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        raw, alone = Path(folder) / "raw", Path(folder) / "alone.o"
        generate = f"-fprofile-generate={raw}"
        _run([*compilation.command_of_unit(unit, alone), generate])
        _write_profile(compilation, alone, workload, raw, profile)


def _write_counts(compilation: Compilation, unit: Path, workload: Workload, counts: Path) -> None:
    """Writes the executions of blocks of the unoptimised program."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        raw, alone = Path(folder) / "raw", Path(folder) / "alone.o"
        instrumented = Path(folder) / "instrumented.bc"
        _run([llvm_tools.opt_path(), "-passes=pgo-instr-gen", unit, "-o", instrumented])
        written = f"-fprofile-instr-generate={raw}/%p.profraw"
        # The counts are the same at any level.
        _run([*compilation.command_of_unit(instrumented, alone), "-O1", "-w", written])
        _write_profile(compilation, alone, workload, raw, counts)


def _write_profile(
    compilation: Compilation, alone: Path, workload: Workload, raw: Path, profile: Path
) -> None:
    """Runs an instrumented program, and writes its merged profile."""
    # The profiling library goes into the object file, so that any command can link it.
    whole, program = alone.with_name("whole.o"), alone.with_name("program")
    join: list[str | Path] = [compilation.clang, "-nostdlib", "-r", "-fprofile-instr-generate"]
    _run([*join, alone, "-o", whole])
    workload.link(whole, program)
    workload.train(program, raw)
    _run([llvm_tools.tool_path("llvm-profdata"), "merge", raw, "-o", profile])


def _facts(
    name: str, compilation: Compilation, unit: Path, counts: Path
) -> Sequence[dict[str, Any]]:
    """Returns the lines of a pass of the plugin for bitcode with counts."""
    load = f"-load-pass-plugin={compilation.plugin}"
    passes = [f"-passes={USE_COUNTS},{name}", option_of_counts(counts)]
    output = _run([llvm_tools.opt_path(), load, *passes, "-disable-output", unit])
    return [*map(json.loads, output.splitlines())]


def _run(command: Sequence[str | Path]) -> str:
    return run_started([str(word) for word in command], _SECONDS).stdout
