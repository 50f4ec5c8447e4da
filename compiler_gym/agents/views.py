"""Tools of the workbench that look at the program."""

from collections import Counter
from typing import Literal

from compiler_gym.agents.compiler import FunctionRow
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.programs import object_file
from compiler_gym.agents.texts import blocks_of, function_text, page, table
from compiler_gym.agents.workspace import LEVELS, Variant, Workspace
from compiler_gym.envs.llvm.display import diff_of_ir
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import COSTS, Objective
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util.shell_format import plural

Length = Literal["summary", "detail", "ir"]
_SHOWN = 12


class ProgramViews(Workspace):
    """Tools that describe the program of the current branch and its functions."""

    def describe(self, length: Length = "summary", offset: int = 0) -> str:
        """Describes the program of the current branch at one of three lengths.

        Args:
            length: "summary" for costs beside -O0, -O3 and -Oz; "detail" for functions, remarks and
                all passes as well; "ir" for the whole textual LLVM IR.
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            branch = self._branch()
            if length == "ir":
                return self._page(self._ir(branch), offset)
            if length == "summary":
                return page(self._summary(branch), self.limits.summary_characters, offset)
            if length != "detail":
                raise AgentError(f"expected length 'summary', 'detail' or 'ir', got {length!r}")
            parts = [
                self._summary(branch),
                f"passes: {' '.join(branch.passes) or 'none'}",
                self.function_sizes(),
                self.remarks(),
            ]
            return self._page("\n\n".join(parts), offset)

    def _summary(self, branch: Variant) -> str:
        assert self._program is not None
        last = f", the last {branch.passes[-1]}" if branch.passes else ""
        counts = self._functions(branch)
        largest = sorted(counts, key=lambda row: -row[1])[:5]
        return (
            f"program {self._program.name}, branch {self._current}, "
            f"{plural(len(branch.passes), 'pass', 'passes')}{last}\n{self.compare()}\n"
            f"{plural(len(counts), 'function')}, the largest: "
            + ", ".join(f"{name} {count}" for name, count, *_ in largest)
        )

    def compare(self) -> str:
        """Compares the current branch with -O0, -O3 and -Oz: instructions, bytes and cycles.

        Instructions are those of LLVM IR. Bytes are the machine code of an object file. Cycles are
        an estimate. Lower is better for all.
        """
        with self._lock:
            branch = self._branch()
            self._measure_costs(branch)
            rows: list[tuple[object, ...]] = [("cost", "now", "-O0", "-O3", "-Oz", "now to -Oz")]
            for objective in COSTS:
                now = self._cost(branch, objective)
                o0, o3, oz = (self._baselines[objective, level] for level in LEVELS)
                rows.append((objective, now, o0, o3, oz, versus(now, oz)))
            return table(rows)

    def function_sizes(self, objective: Objective = "instructions", offset: int = 0) -> str:
        """Lists the functions of the current branch by size, the largest first.

        Args:
            objective: "instructions" of LLVM IR, or "bytes" of machine code.
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            branch = self._branch()
            if objective == "bytes":
                sizes = sorted(branch.call(_code_sizes).items(), key=lambda each: -each[1])
                return self._page(table([("function", "bytes"), *sizes]), offset)
            if objective != "instructions":
                raise AgentError(f"expected objective 'instructions' or 'bytes', got {objective!r}")
            rows = sorted(self._functions(branch), key=lambda row: -row[1])
            head = ("function", "instructions", "blocks", "loops", "loop depth")
            return self._page(table([head, *rows]), offset)

    def read_function(self, function: str, offset: int = 0) -> str:
        """Returns the LLVM IR of one function of the current branch.

        Args:
            function: Its name, e.g. "main".
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            return self._page(function_text(self._ir(self._branch()), function), offset)

    def control_flow(self, function: str, offset: int = 0) -> str:
        """Summarises the control flow of one function: a line for each basic block.

        Args:
            function: Its name, e.g. "main".
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            text = function_text(self._ir(self._branch()), function)
            rows = []
            for block in blocks_of(text):
                common = ", ".join(f"{count} {name}" for name, count in block.opcodes.most_common())
                targets = ", ".join(block.successors) or "the end"
                rows.append(f"{block.name}: {common} -> {targets}")
            return self._page("\n".join(rows), offset)

    def diff(self, count: int = 1, function: str = "", offset: int = 0) -> str:
        """Shows what the last passes changed in the LLVM IR, as a unified diff.

        Args:
            count: The number of last passes to look at.
            function: Only this function; all if it is empty.
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            branch = self._branch()
            self._check_count(branch, count)
            with branch.earlier(len(branch.steps) - count) as earlier:
                before = earlier.ir
            after = self._ir(branch)
            if function:
                after = function_text(after, function)
                before = function_text(before, function)
            lines = [*diff_of_ir(before, after)]
            return self._page("\n".join(lines) or "No difference", offset)

    def remarks(self, function: str = "", offset: int = 0) -> str:
        """Lists LLVM's remarks about the last pass: what it did, and what it missed and why.

        Args:
            function: Only remarks about this function; all if it is empty.
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            branch = self._branch()
            if not branch.passes:
                return "No remarks: no pass has been applied yet"
            rows = self.remarks_of_last_pass()
            chosen = [
                (count, text) for name, text, count in rows if not function or name == function
            ]
            if not chosen:
                return f"No remarks about {branch.passes[-1]}"
            lines = [f"{count} x {text}" if count > 1 else text for count, text in chosen]
            return self._page(f"remarks of {branch.passes[-1]}:\n" + "\n".join(lines), offset)

    def remarks_of_last_pass(self) -> list[tuple[str, str, int]]:
        """Returns the remarks of the last pass: function, text, and how often it came."""
        with self._lock:
            steps = self._branch().steps
            with self._branch().earlier(len(steps) - 1) as earlier:
                (found,), _, done, _ = earlier.multistep(
                    [steps[-1].action],
                    observation_spaces=["Remarks"],
                    timeout=self.limits.step_seconds,
                )
            if done:
                return []
            keys = ("function", "kind", "pass", "message")
            counts = Counter(zip(*(map(str, found[key]) for key in keys), strict=True))
            return [
                (function, f"{function}: {kind}: {message}", count)
                for (function, kind, _, message), count in counts.items()
            ]

    def _ir(self, branch: Variant) -> str:
        return branch.call(lambda env: env.ir)

    def _functions(self, branch: Variant) -> list[FunctionRow]:
        """Returns a row for each function with a body."""
        if branch.measured.functions is None:
            (found,) = branch.observe("FunctionProperties")
            keys = ("TotalInstructionCount", "BasicBlockCount", "TopLevelLoopCount", "MaxLoopDepth")
            numbers = zip(*([int(each) for each in found[key]] for key in keys), strict=True)
            branch.measured.functions = [
                (str(name), *row)
                for name, row in zip(found["Function"], numbers, strict=True)
                if row[1]
            ]
        return branch.measured.functions


def _code_sizes(env: LlvmEnv) -> dict[str, int]:
    """Returns the bytes of machine code of each function."""
    with object_file(env) as path:
        return read_object(path).functions


def versus(cost: int, other: int) -> str:
    """Returns how much a cost differs from another one: -9.2% is smaller."""
    return f"{cost / other - 1:+.1%}" if other else "-"
