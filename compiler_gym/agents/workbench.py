"""The workbench: tools for agents on a program and its variants, with answers of bounded length."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from compiler_gym.agents import exports
from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.programs import (
    SUITE,
    Language,
    OpenedProgram,
    file_program,
    named_program,
    text_program,
)
from compiler_gym.agents.texts import blocks_of, function_text, kept_symbols, page, table
from compiler_gym.agents.verify import Verdict, verify
from compiler_gym.envs.llvm.display import diff_of_ir
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.errors import ServiceError
from compiler_gym.explorer.problems import ExplorerError
from compiler_gym.explorer.sources import check_assembly
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util.nearest_names import did_you_mean
from compiler_gym.util.shell_format import plural

Objective = Literal["instructions", "bytes", "cycles"]
Length = Literal["summary", "detail", "ir"]

COSTS: dict[str, tuple[str, str]] = {
    "instructions": ("IrInstructionCount", "IrInstructionCount"),
    "bytes": ("ObjectTextSizeBytes", "ObjectTextSize"),
    "cycles": ("CyclesEstimate", "CyclesEstimate"),
}
"""The observation of each objective, and the prefix of the observations of its baselines."""

MAX_SCORE = 10.0
"""The largest score: ten times the reduction by -Oz."""

_LEAST_CHANGE = 0.1
_MAIN = "main"
_SHOWN = 12


@dataclass
class Branch:
    """A variant of the program: an environment, the passes so far, and the cost after each."""

    env: LlvmEnv
    passes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """The effect of a pass: its name, whether it changed anything, and the IR instructions left."""

    name: str
    has_changed: bool
    instructions: int


class Workbench:
    """The tools of one agent.

    Each tool returns text of bounded length, and raises :class:`AgentError`, which says what to do
    next. It is thread-safe.

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
        self._branches: dict[str, Branch] = {}
        self._current = _MAIN

    def close(self) -> None:
        """Ends all sessions. The workbench can be used again."""
        with self._lock:
            for branch in self._branches.values():
                branch.env.close()
            self._branches.clear()
            self._program = None
            self._current = _MAIN

    # ----------------------------------------------------------------------------------------------
    # Tools: programs.

    def list_programs(self, dataset: str = SUITE, offset: int = 0) -> str:
        """Lists the programs of a data set, and the names of the other data sets.

        Args:
            dataset: The name of a data set, e.g. "benchmark://kernels-v0".
            offset: The number of names to skip.
        """
        try:
            chosen = self._compiler.datasets[dataset]
            names = []
            for number, uri in enumerate(chosen.benchmark_uris()):
                if number >= offset + 100:
                    names.append(f"[for the rest call this tool again with offset={offset + 100}]")
                    break
                if number >= offset:
                    names.append(uri)
        except (LookupError, ValueError, OSError) as error:
            raise AgentError(f"{text_of(error)} Try {SUITE}") from error
        others = ", ".join(each.name for each in self._compiler.datasets)
        return self._page("\n".join([*names, f"All data sets: {others}"]))

    def open_program(
        self,
        name: str = "",
        source: str = "",
        language: Language = "c",
        flags: str = "",
        file: str = "",
    ) -> str:
        """Opens a program and describes it. Call this first. Give one of name, source and file.

        A program that was open before is closed, with all of its branches.

        Args:
            name: A program of a data set, such as "sha256" or "benchmark://kernels-v0/sha256".
            source: The text of a program in C, C++ or LLVM IR. Only system headers can be included.
            language: The language of source: "c", "c++" or "ir".
            flags: Compiler flags for source or file, such as "-DNDEBUG -std=c11".
            file: A .c, .cpp, .ll or .bc file below the folder that the server was started with.
        """
        if sum(map(bool, (name, source, file))) != 1:
            raise AgentError(
                "expected exactly one of the arguments name, source and file; e.g. name='sha256'"
            )
        if source:
            program = text_program(source, language, flags, self.limits)
        elif file:
            program = file_program(self._root, file, flags, self.limits)
        else:
            program = named_program(self._compiler, name)
        with self._lock:
            self._open(program)
            return self.describe()

    def open_benchmark(self, uri: str) -> None:
        """Opens a program by its URI, files included; not a tool.

        Raises:
            AgentError: If it cannot be used.
        """
        with self._lock:
            self._open(OpenedProgram(uri.removeprefix("benchmark://"), uri))

    def _open(self, program: OpenedProgram) -> None:
        env = self._compiler.open(program.benchmark, self.limits.compile_seconds)
        try:
            instructions, ir = env.observation.observe(["IrInstructionCount", "Ir"])
            if program.is_own:
                check_assembly(ir)
            self._check_size(int(instructions))
        except ExplorerError as error:
            env.close()
            raise AgentError(str(error)) from error
        except BaseException:
            env.close()
            raise
        self.close()
        self._program = program
        self._symbols = kept_symbols(ir)
        self._branches[_MAIN] = Branch(env)

    def _check_size(self, instructions: int) -> None:
        if instructions > self.limits.instructions:
            raise AgentError(
                f"expected a program of at most {self.limits.instructions:,} instructions, got "
                f"{instructions:,}; open a smaller one"
            )

    # ----------------------------------------------------------------------------------------------
    # Tools: passes.

    def list_passes(self, search: str = "", offset: int = 0) -> str:
        """Lists the passes that can be applied, with a sentence about each.

        Args:
            search: Only passes whose name or description has this text, e.g. "loop".
            offset: The number of characters to skip, as an earlier answer said.
        """
        space = self._compiler.action_space
        rows = [
            f"{name}: {text}"
            for name, text in zip(self._compiler.pass_names, space.descriptions, strict=True)
            if search.lower() in f"{name} {text}".lower()
        ]
        if not rows:
            raise AgentError(f"No pass has {search!r} in its name or description. Try search=''")
        return self._page("\n".join(rows), offset)

    def describe_pass(self, name: str) -> str:
        """Describes one pass.

        Args:
            name: The name of the pass, e.g. "gvn".
        """
        space = self._compiler.action_space
        number = self._numbers([name])[0]
        return f"{name}: {space.descriptions[number]}.\nFull name for opt: {space.names[number]}"

    def apply_passes(self, passes: list[str]) -> str:
        """Applies LLVM passes in order to the current branch, and says what each changed.

        Args:
            passes: The names of the passes, e.g. ["sroa", "instcombine", "simplifycfg"].
        """
        with self._lock:
            branch = self._branch()
            before = self._cost(branch.env, "instructions")
            rows: list[tuple[object, ...]] = [("pass", "changed", "instructions")]
            steps = self._apply(branch, passes)
            for step in steps:
                rows.append((step.name, "yes" if step.has_changed else "no", step.instructions))
            after = steps[-1].instructions if steps else before
            return self._page(
                f"{table(rows)}\ninstructions: {before} before, {after} now "
                f"({_versus(after, before)})"
            )

    def undo(self, count: int = 1) -> str:
        """Takes back the last passes of the current branch.

        Args:
            count: How many passes to take back.
        """
        with self._lock:
            branch = self._branch()
            self._check_count(branch, count)
            del branch.passes[len(branch.passes) - count :]
            self._replay(branch.env, branch.passes)
            return self.describe()

    def try_sequences(
        self,
        sequences: list[list[str]],
        objective: Objective = "instructions",
        apply_best: bool = False,
    ) -> str:
        """Tries several lists of passes, each from the current state, and ranks them in a table.

        The current branch stays as it is, unless apply_best is true. For instructions and cycles,
        the table says after which pass of the list the program was smallest.

        Args:
            sequences: The lists, e.g. [["sroa", "gvn"], ["mem2reg", "instcombine"]].
            objective: The cost to rank by: "instructions", "bytes" or "cycles".
            apply_best: Whether to apply the best list, up to its best pass, if that is smaller.
        """
        self._check_objective(objective)
        if not 1 <= len(sequences) <= self.limits.sequences:
            raise AgentError(
                f"expected 1 to {self.limits.sequences} lists of passes, got {len(sequences)}"
            )
        for sequence in sequences:
            self._numbers(sequence)
        with self._lock:
            branch = self._branch()
            start = self._cost(branch.env, objective)
            results = [*self._tried(branch, sequences, objective)]
            oz = self._baseline(branch.env, objective, "Oz")
            rows: list[tuple[object, ...]] = [
                ("list", objective, "now to best", "best to -Oz", "best after")
            ]
            best: tuple[int, int, list[str]] | None = None
            for number, names, cost, length, error in results:
                if cost is None:
                    rows.append((f"{number}: {error}", "-", "-", "-", "-"))
                    continue
                after = plural(length, "pass", "passes")
                rows.append((number, cost, _versus(cost, start), _versus(cost, oz), after))
                if best is None or (cost, length) < best[:2]:
                    best = (cost, length, names[:length])
            rows[1:] = sorted(rows[1:], key=lambda row: (row[1] == "-", row[1]))
            text = f"Now {start}, -Oz {oz}. Lists count from 0.\n{table(rows)}"
            if apply_best and best is not None and best[0] < start:
                self._apply(branch, best[2])
                text += f"\napplied: {' '.join(best[2])}"
            elif apply_best:
                text += "\nnothing applied: no list is an improvement"
            return self._page(text)

    def _tried(
        self, branch: Branch, sequences: Sequence[Sequence[str]], objective: Objective
    ) -> Iterator[tuple[int, list[str], int | None, int, str]]:
        """Yields the number, the passes, the lowest cost, after how many passes, and the error."""
        deadline = time.monotonic() + self.limits.call_seconds
        for number, sequence in enumerate(sequences):
            names = [*sequence]
            with branch.env.fork() as fork:
                trial = Branch(fork, [*branch.passes])
                best, length = self._cost(fork, objective), 0
                try:
                    for index, name in enumerate(names, start=1):
                        step = self._step(trial, name, deadline)
                        is_last = index == len(names)
                        if not step.has_changed and not is_last:
                            continue
                        if objective != "bytes" or is_last:
                            cost = self._cost(fork, objective)
                            if cost < best:
                                best, length = cost, index
                except (AgentError, ServiceError) as error:
                    yield number, names, None, 0, text_of(error)
                    continue
            yield number, names, best, length, ""

    # ----------------------------------------------------------------------------------------------
    # Tools: branches.

    def fork(self, name: str) -> str:
        """Copies the current branch to a new one, which becomes the current one.

        Args:
            name: The name of the new branch, e.g. "with-inlining".
        """
        with self._lock:
            branch = self._branch()
            if not name or name in self._branches or len(name) > 40:
                raise AgentError(
                    f"expected a new name of 1 to 40 characters, got {name!r}; there are "
                    f"{', '.join(self._branches)}. Call switch_branch to go to one"
                )
            if len(self._branches) >= self.limits.branches:
                raise AgentError(
                    f"expected at most {self.limits.branches} branches; drop one with drop_branch"
                )
            self._branches[name] = Branch(branch.env.fork(), [*branch.passes])
            self._current = name
            return self.branches()

    def switch_branch(self, name: str) -> str:
        """Makes another branch the current one.

        Args:
            name: Its name.
        """
        with self._lock:
            self._known_branch(name)
            self._current = name
            return self.branches()

    def drop_branch(self, name: str) -> str:
        """Deletes a branch that is not the current one.

        Args:
            name: Its name.
        """
        with self._lock:
            self._known_branch(name)
            if name == self._current:
                raise AgentError(f"{name!r} is the current branch: call switch_branch first")
            self._branches.pop(name).env.close()
            return self.branches()

    def branches(self) -> str:
        """Lists the branches with their costs; the current one has a star."""
        with self._lock:
            self._branch()
            rows: list[tuple[object, ...]] = [("branch", "passes", "instructions")]
            for name, branch in self._branches.items():
                star = "*" if name == self._current else ""
                cost = self._cost(branch.env, "instructions")
                rows.append((f"{name}{star}", len(branch.passes), cost))
            return self._page(table(rows))

    def _known_branch(self, name: str) -> None:
        self._branch()
        if name not in self._branches:
            raise AgentError(
                f"expected the name of a branch, got {name!r}.{did_you_mean(name, self._branches)} "
                f"There are {', '.join(self._branches)}"
            )

    # ----------------------------------------------------------------------------------------------
    # Tools: looking at the program.

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
                return self._page(branch.env.ir, offset)
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

    def _summary(self, branch: Branch) -> str:
        assert self._program is not None
        last = f", the last {branch.passes[-1]}" if branch.passes else ""
        counts = self._properties(branch.env)
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
            env = self._branch().env
            names = [
                name
                for cost, prefix in COSTS.values()
                for name in (cost, f"{prefix}O0", f"{prefix}O3", f"{prefix}Oz")
            ]
            values = iter([int(each) for each in env.observation.observe(names)])
            rows: list[tuple[object, ...]] = [("cost", "now", "-O0", "-O3", "-Oz", "now to -Oz")]
            for objective in COSTS:
                now, o0, o3, oz = next(values), next(values), next(values), next(values)
                rows.append((objective, now, o0, o3, oz, _versus(now, oz)))
            return table(rows)

    def function_sizes(self, objective: Objective = "instructions", offset: int = 0) -> str:
        """Lists the functions of the current branch by size, the largest first.

        Args:
            objective: "instructions" of LLVM IR, or "bytes" of machine code.
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            env = self._branch().env
            if objective == "bytes":
                with exports.object_file(env) as path:
                    sizes = sorted(read_object(path).functions.items(), key=lambda each: -each[1])
                return self._page(table([("function", "bytes"), *sizes]), offset)
            if objective != "instructions":
                raise AgentError(f"expected objective 'instructions' or 'bytes', got {objective!r}")
            rows = sorted(self._properties(env), key=lambda row: -row[1])
            head = ("function", "instructions", "blocks", "loops", "loop depth")
            return self._page(table([head, *rows]), offset)

    def read_function(self, function: str, offset: int = 0) -> str:
        """Returns the LLVM IR of one function of the current branch.

        Args:
            function: Its name, e.g. "main".
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            return self._page(function_text(self._branch().env.ir, function), offset)

    def control_flow(self, function: str, offset: int = 0) -> str:
        """Summarises the control flow of one function: a line for each basic block.

        Args:
            function: Its name, e.g. "main".
            offset: The number of characters to skip, as an earlier answer said.
        """
        with self._lock:
            text = function_text(self._branch().env.ir, function)
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
            with self._earlier(branch, len(branch.passes) - count) as fork:
                before = fork.ir
            after = branch.env.ir
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
            rows = self.remarks_of(branch.passes)
            chosen = [
                (count, text) for name, text, count in rows if not function or name == function
            ]
            if not chosen:
                return f"No remarks about {branch.passes[-1]}"
            lines = [f"{count} x {text}" if count > 1 else text for count, text in chosen]
            return self._page(f"remarks of {branch.passes[-1]}:\n" + "\n".join(lines), offset)

    def remarks_of(self, passes: Sequence[str]) -> list[tuple[str, str, int]]:
        """Returns the remarks of the last of some passes: function, text, and how often it came."""
        with self._lock:
            branch = self._branch()
            with self._earlier(Branch(branch.env, [*passes]), len(passes) - 1) as fork:
                (found,), _, done, _ = fork.multistep(
                    self._numbers(passes[-1:]),
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

    def _properties(self, env: LlvmEnv) -> list[tuple[str, int, int, int, int]]:
        """Returns name, instructions, blocks, loops and depth of loops of each function."""
        found = env.observation["FunctionProperties"]
        keys = ("TotalInstructionCount", "BasicBlockCount", "TopLevelLoopCount", "MaxLoopDepth")
        numbers = zip(*([int(each) for each in found[key]] for key in keys), strict=True)
        return [
            (str(name), *row)
            for name, row in zip(found["Function"], numbers, strict=True)
            if row[1]
        ]

    # ----------------------------------------------------------------------------------------------
    # Tools: results.

    def validate(self) -> str:
        """Checks that the program of the current branch still does what it did before any pass.

        If the server may run programs and the program can be run, its output is compared.
        """
        with self._lock:
            verdict = self.verdict(repeat_with_opt=True)
            lines = ["right" if verdict.is_right else "WRONG", *verdict.problems]
            lines.append(f"checked: {'; '.join(verdict.checks)}")
            if not verdict.has_run and verdict.is_right:
                reason = (
                    "there is nothing to run"
                    if self._may_run
                    else "the server was started without --allow-run"
                )
                lines.append(f"The program was not run: {reason}")
            if not verdict.is_right:
                lines.append("Call undo, or switch_branch to a branch that is right")
            return self._page("\n".join(lines))

    def verdict(self, repeat_with_opt: bool = False) -> Verdict:
        """Verifies the program of the current branch, see :func:`verify`."""
        with self._lock:
            assert self._program is not None
            program, env = self._program, self._branch().env
            may_run = self._may_run and (not program.is_own or "main" in self._symbols)

            def check() -> Verdict:
                seconds = self.limits.run_seconds
                return verify(env, self._symbols, may_run, seconds, repeat_with_opt)

            if program.is_own:  # Others may have the same name.
                return check()
            key = (program.name, env.ir_sha1, str(may_run), str(repeat_with_opt))
            return self._compiler.verified(key, check)

    def score(self, objective: Objective = "instructions") -> float:
        """Returns the reduction of a cost divided by that of -Oz: 1 is as good as -Oz.

        The score is at least 0, so that a broken program, which gets 0, never beats a bad one, and
        at most :data:`MAX_SCORE`. If -Oz saves almost nothing, a tenth of the cost counts as 1.
        """
        self._check_objective(objective)
        with self._lock:
            env = self._branch().env
            start = self._baseline(env, objective, "O0")
            saved_by_oz = abs(start - self._baseline(env, objective, "Oz"))
            share = (start - self._cost(env, objective)) / max(
                saved_by_oz, start * _LEAST_CHANGE, 1
            )
            return min(max(share, 0.0), MAX_SCORE)

    def export(
        self, format: Literal["opt", "python", "object", "bitcode", "ir"] = "opt", file: str = ""
    ) -> str:
        """Exports the current branch: as a command line of opt, a Python program, or a file.

        Args:
            format: "opt" or "python" for text; "object", "bitcode" or "ir" for a file.
            file: The name of the new file, below the folder that the server was started with.
        """
        with self._lock:
            branch = self._branch()
            assert self._program is not None
            if format == "opt":
                return branch.env.commandline()
            if format == "python":
                return exports.python_program(self._program, branch.passes)
            size = exports.write_file(branch.env, self._root, format, file)
            return f"wrote {file}, {size} bytes"

    # ----------------------------------------------------------------------------------------------
    # State.

    @property
    def passes(self) -> tuple[str, ...]:
        """The passes of the current branch."""
        return (*self._branch().passes,)

    def restore(self) -> None:
        """Restores the current branch in a new session, after the old one was lost."""
        with self._lock:
            branch = self._branch()
            self._replay(branch.env, branch.passes)

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
            return self._cost(self._branch().env, objective)

    def baseline(self, objective: Objective, level: Literal["O0", "O3", "Oz"]) -> int:
        """Returns the cost that a level of clang leaves."""
        with self._lock:
            return self._baseline(self._branch().env, objective, level)

    def _branch(self) -> Branch:
        if self._program is None:
            raise AgentError("There is no program yet: call open_program first, e.g. name='sha256'")
        return self._branches[self._current]

    def _cost(self, env: LlvmEnv, objective: Objective) -> int:
        return int(env.observation[COSTS[objective][0]])

    def _baseline(self, env: LlvmEnv, objective: Objective, level: str) -> int:
        return int(env.observation[f"{COSTS[objective][1]}{level}"])

    def _check_count(self, branch: Branch, count: int) -> None:
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
            return int(self._compiler.action_space[name])
        except (LookupError, ValueError, TypeError) as error:
            similar = did_you_mean(str(name), self._compiler.pass_names)
            raise AgentError(
                f"expected the name of a pass, got {name!r}.{similar} Call list_passes for all "
                "names"
            ) from error

    def _apply(self, branch: Branch, passes: Sequence[str]) -> list[Step]:
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

    def _step(self, branch: Branch, name: str, deadline: float) -> Step:
        self._spend_pass()
        seconds = min(self.limits.step_seconds, deadline - time.monotonic())
        if seconds <= 0:
            raise AgentError(
                f"The passes of one call took longer than {self.limits.call_seconds:g} s. "
                f"{name} and those after it were not run: apply fewer at a time"
            )
        (count, stats), _, done, info = branch.env.multistep(
            self._numbers([name]),
            observation_spaces=["IrInstructionCount", "PassStats"],
            timeout=seconds,
        )
        if done or int(count) > self.limits.instructions:
            self._replay(branch.env, branch.passes)
            if done:
                details = " ".join(info.get("error_details", "").split())[:200]
                raise AgentError(f"{name} failed and was undone: {details}. Use another pass")
            raise AgentError(
                f"{name} made the program larger than {self.limits.instructions:,} instructions "
                "and was undone. Use another pass"
            )
        branch.passes.append(name)
        return Step(name, bool(stats["changed"]), int(count))

    def _spend_pass(self) -> None:
        if self.pass_budget is not None and self.passes_run >= self.pass_budget:
            raise AgentError(
                f"The budget of {self.pass_budget} passes is spent. Call submit to get the reward"
            )
        self.passes_run += 1

    def _replay(self, env: LlvmEnv, passes: Sequence[str]) -> None:
        """Begins the episode of an environment again, and applies passes that are known to work."""
        env.reset(benchmark=env.benchmark, observation_space=None, reward_space=None)
        if passes:
            _, _, done, info = env.multistep(
                self._numbers(passes), timeout=self.limits.call_seconds
            )
            if done:
                raise AgentError(f"The passes failed: {info.get('error_details', '')[:200]}")

    @contextmanager
    def _earlier(self, branch: Branch, length: int) -> Iterator[LlvmEnv]:
        """Yields the program after the first passes of a branch."""
        with branch.env.fork() as fork:
            self._replay(fork, branch.passes[:length])
            yield fork

    def _page(self, text: str, offset: int = 0) -> str:
        return page(text, self.limits.answer_characters, offset)


def _versus(cost: int, other: int) -> str:
    """Returns how much a cost differs from another one: -9.2% is smaller."""
    return f"{cost / other - 1:+.1%}" if other else "-"


TOOLS = (
    *("list_programs", "open_program", "list_passes", "describe_pass", "apply_passes", "undo"),
    *("try_sequences", "fork", "switch_branch", "drop_branch", "branches", "describe", "compare"),
    *("function_sizes", "read_function", "control_flow", "diff", "remarks", "validate", "export"),
)
"""The names of the methods that are tools."""
