"""The state of a workbench: the program, its branches, and the passes that were run."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from typing_extensions import override

from compiler_gym.agents.compiler import Compiler, Measurements
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.programs import OpenedProgram
from compiler_gym.agents.texts import page
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import (
    BASELINES,
    COSTS,
    ActionFailed,
    Branch,
    Objective,
    Step,
    apply_actions,
)
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.sources import check_assembly

LEVELS = ("O0", "O3", "Oz")
"""The levels of clang whose costs are the baselines."""

_MAIN = "main"


class Variant(Branch[LlvmEnv]):
    """A variant of the program, with the measurements of its current state.

    Args:
        env: The environment, in the state of the program.
        measured: The measurements of the program.
        seconds: The time limit for repeating all passes.

    Attributes:
        measured: The measurements of the current state.
    """

    def __init__(self, env: LlvmEnv, measured: Measurements, seconds: float):
        super().__init__(env, seconds)
        self.measured = measured

    @property
    def passes(self) -> list[str]:
        """The passes so far."""
        return [step.name for step in self.steps]

    @override
    def restore(self) -> None:
        self.measured = Measurements()
        super().restore()


class Workspace:
    """A program with its branches, and the operations that all tools use. It is thread-safe.

    Args:
        compiler: The compiler, which may be shared.
        limits: The limits.
        root: The folder of the files that can be opened and written; None for none.
        may_run: Whether the program may be run, to compare what it prints.
        pass_budget: The total number of passes that may be run; None for no limit.
    """

    def __init__(
        self,
        compiler: Compiler,
        limits: Limits | None = None,
        root: Path | None = None,
        may_run: bool = False,
        pass_budget: int | None = None,
    ):
        self.limits = limits or Limits()
        self.passes_run = 0
        self.pass_budget = pass_budget
        self._compiler = compiler
        self._root = root
        self._may_run = may_run
        self._lock = threading.RLock()
        self._program: OpenedProgram | None = None
        self._symbols: frozenset[str] = frozenset()
        self._baselines: dict[tuple[Objective, str], int] = {}
        # The passes of the state that is to be verified in the background.
        self._to_verify: list[str] | None = None
        self._branches: dict[str, Variant] = {}
        self._current = _MAIN

    def close(self) -> None:
        """Ends all sessions. The workbench can be used again."""
        with self._lock:
            self._to_verify = None
            for branch in self._branches.values():
                branch.close()
            self._branches.clear()
            self._program = None
            self._current = _MAIN

    def _open(self, program: OpenedProgram) -> None:
        try:
            opened = self._compiler.open(
                program.benchmark,
                self.limits.compile_seconds,
                keep=program.is_fixed,
                check_ir=check_assembly if program.is_own else None,
            )
        except ExplorerError as error:
            raise AgentError(str(error)) from error
        try:
            self._check_size(opened.measured.costs["instructions"])
        except BaseException:
            opened.env.close()
            raise
        self.close()
        self._program = program
        self._symbols = opened.symbols
        self._baselines = opened.baselines
        self._branches[_MAIN] = Variant(opened.env, opened.measured, self.limits.call_seconds)

    def _check_size(self, instructions: int) -> None:
        if instructions > self.limits.instructions:
            raise AgentError(
                f"expected a program of at most {self.limits.instructions:,} instructions, got "
                f"{instructions:,}; open a smaller one"
            )

    def _known_branch(self, name: str) -> None:
        self._branch()
        if name not in self._branches:
            raise AgentError(
                f"expected the name of a branch, got {name!r}.{did_you_mean(name, self._branches)} "
                f"There are {', '.join(self._branches)}"
            )

    @property
    def passes(self) -> tuple[str, ...]:
        """The passes of the current branch."""
        return (*self._branch().passes,)

    def restore(self) -> None:
        """Restores the current branch in a new session, after the old one was lost."""
        with self._lock:
            self._branch().restore()

    def short_name(self, name: str) -> str:
        """Returns the shortest name of a pass: ``sroa`` of ``function(sroa)``."""
        return self._compiler.pass_names[self._number(name)]

    def description_of(self, name: str) -> str:
        """Returns a sentence about a pass."""
        return f"{name}: {self._compiler.action_space.descriptions[self._number(name)]}."

    @property
    def pass_names(self) -> list[str]:
        """The names of all passes."""
        return self._compiler.pass_names

    def cost(self, objective: Objective = "instructions") -> int:
        """Returns a cost of the current branch."""
        self._check_objective(objective)
        with self._lock:
            return self._cost(self._branch(), objective)

    def baseline(self, objective: Objective, level: Literal["O0", "O3", "Oz"]) -> int:
        """Returns the cost that a level of clang leaves."""
        with self._lock:
            return self._baseline(self._branch(), objective, level)

    def _branch(self) -> Variant:
        if self._program is None:
            raise AgentError("There is no program yet: call open_program first, e.g. name='sha256'")
        return self._branches[self._current]

    def _cost(self, branch: Variant, objective: Objective) -> int:
        if objective not in branch.measured.costs:
            (cost,) = branch.observe(COSTS[objective])
            branch.measured.costs[objective] = int(cost)
        return branch.measured.costs[objective]

    def _ir_sha1(self, branch: Variant) -> str:
        if branch.measured.ir_sha1 is None:
            (sha1,) = branch.observe("IrSha1")
            branch.measured.ir_sha1 = str(sha1)
        return branch.measured.ir_sha1

    def _measure_costs(self, branch: Variant) -> None:
        """Measures all costs and baselines that are not known yet, in one call of the session."""
        costs = [each for each in COSTS if each not in branch.measured.costs]
        baselines = [
            (each, level)
            for each in COSTS
            for level in LEVELS
            if (each, level) not in self._baselines
        ]
        names = [COSTS[each] for each in costs]
        names += [f"{BASELINES[each]}{level}" for each, level in baselines]
        if names:
            values = [int(each) for each in branch.observe(*names)]
            branch.measured.costs.update(zip(costs, values[: len(costs)], strict=True))
            self._baselines.update(zip(baselines, values[len(costs) :], strict=True))

    def _baseline(self, branch: Variant, objective: Objective, level: str) -> int:
        key = objective, level
        if key not in self._baselines:
            (cost,) = branch.observe(f"{BASELINES[objective]}{level}")
            self._baselines[key] = int(cost)
        return self._baselines[key]

    def _check_count(self, branch: Variant, count: int) -> None:
        if not branch.passes:
            raise AgentError(f"Branch {self._current} has no passes yet: call apply_passes first")
        if not 1 <= count <= len(branch.passes):
            raise AgentError(
                f"expected count from 1 to {len(branch.passes)}, the passes of branch "
                f"{self._current}, got {count}"
            )

    def _check_objective(self, objective: str) -> None:
        if objective not in COSTS:
            raise AgentError(f"expected objective {', '.join(COSTS)}, got {objective!r}")

    def _numbers(self, passes: Iterable[str]) -> list[int]:
        if isinstance(passes, str):
            raise AgentError(f"expected a list of names of passes, got the text {passes!r}")
        return [self._number(name) for name in passes]

    def _number(self, name: str) -> int:
        try:
            # Blanks around a name would be in the state and in all tables.
            if not isinstance(name, str) or name != name.strip():
                raise ValueError(name)
            return int(self._compiler.action_space[name])
        except (LookupError, ValueError) as error:
            similar = did_you_mean(str(name).strip(), self._compiler.pass_names)
            raise AgentError(
                f"expected the name of a pass, got {name!r}.{similar} Call list_passes for all "
                "names"
            ) from error

    def _apply(self, branch: Variant, passes: Sequence[str]) -> list[Step]:
        """Applies passes to a branch, one by one. If one fails, those before it stay applied."""
        self._numbers(passes)
        if len(branch.passes) + len(passes) > self.limits.actions:
            raise AgentError(
                f"expected at most {self.limits.actions} passes on a branch, got "
                f"{len(branch.passes) + len(passes)}; undo some, or leave out those that change "
                "nothing"
            )
        deadline = time.monotonic() + self.limits.call_seconds
        return [self._step(branch, name, deadline) for name in passes]

    def _step(self, branch: Variant, name: str, deadline: float) -> Step:
        self._spend_pass()
        seconds = min(self.limits.step_seconds, deadline - time.monotonic())
        if seconds <= 0:
            raise AgentError(
                f"The passes of one call took longer than {self.limits.call_seconds:g} s. "
                f"{name} and those after it were not run: apply fewer at a time"
            )
        try:
            step = branch.step(self._number(name), name, seconds)
        except ActionFailed as error:
            details = " ".join(error.details.split())[:200]
            raise AgentError(
                f"{name} failed and was undone: {details}. Use another pass"
            ) from error
        assert step.instructions is not None
        if step.instructions > self.limits.instructions:
            branch.undo()
            raise AgentError(
                f"{name} made the program larger than {self.limits.instructions:,} instructions "
                "and was undone. Use another pass"
            )
        if step.has_changed:
            branch.measured = Measurements({"instructions": step.instructions})
        return step

    def _spend_pass(self) -> None:
        if self.pass_budget is not None and self.passes_run >= self.pass_budget:
            raise AgentError(
                f"The budget of {self.pass_budget} passes is spent. Call submit to get the reward"
            )
        self.passes_run += 1

    def _repeat(self, env: LlvmEnv, passes: Sequence[str]) -> None:
        if passes:
            apply_actions(env, self._numbers(passes), seconds=self.limits.call_seconds)

    @contextmanager
    def _copy(self, program: OpenedProgram, passes: Sequence[str]) -> Iterator[LlvmEnv]:
        """Yields a program after some passes, in a session of its own."""
        opened = self._compiler.open(
            program.benchmark, self.limits.compile_seconds, keep=program.is_fixed
        )
        with opened.env as env:
            self._repeat(env, passes)
            yield env

    def _page(self, text: str, offset: int = 0) -> str:
        return page(text, self.limits.answer_characters, offset)
