"""The workbench: tools for agents on a program and its variants, with answers of bounded length."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Literal

from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.programs import (
    OpenedProgram,
    file_program,
    named_program,
    python_program,
    text_program,
    write_file,
)
from compiler_gym.agents.texts import table
from compiler_gym.agents.verify import Verdict, verify
from compiler_gym.agents.views import ProgramViews, versus
from compiler_gym.agents.workspace import Variant
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import ActionFailed, Objective
from compiler_gym.errors import ServiceError
from compiler_gym.explorer.messages import Language
from compiler_gym.util.shell_format import plural

MAX_SCORE = 10.0
"""The largest score: ten times the reduction by -Oz."""

_LEAST_CHANGE = 0.1
_MAX_OFFSET = 1_000_000
# For the line that says how to get the rest.
_REST_CHARACTERS = 80
# Verification in the background repeats this many passes. They take less time than the rest of it.
_MAX_REPEATED_PASSES = 32


class Workbench(ProgramViews):
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

    def call(self, tool: str, /, **arguments: Any) -> str:
        """Calls a tool by its name. If the session was lost, another one has the same program.

        Args:
            tool: One of :data:`TOOLS`.
            **arguments: Its arguments.

        Raises:
            AgentError: If the tool or the compiler fails.
        """
        try:
            return str(getattr(self, tool)(**arguments))
        except (ServiceError, ActionFailed) as error:
            problem = f"the compiler failed: {text_of(error)[:300]}"
            try:
                self.restore()
            except Exception as again:
                raise AgentError(f"{problem}. Call open_program to start again") from again
            raise AgentError(f"{problem}. Try again") from error

    # ----------------------------------------------------------------------------------------------
    # Tools: programs.

    def list_programs(self, dataset: str = KERNELS, offset: int = 0) -> str:
        """Lists the programs of a data set, and the names of the other data sets.

        Args:
            dataset: The name of a data set, e.g. "benchmark://kernels-v0".
            offset: The number of names to skip, at most a million.
        """
        # There are datasets without an end.
        if not 0 <= offset <= _MAX_OFFSET:
            raise AgentError(f"expected offset from 0 to {_MAX_OFFSET}, got {offset}")
        others = f"All data sets: {', '.join(each.name for each in self._compiler.datasets)}"
        names: list[str] = []
        left = self.limits.answer_characters - len(others)
        try:
            uris = self._compiler.datasets[dataset].benchmark_uris()
            for number, uri in enumerate(islice(uris, offset, None), offset):
                left -= len(uri) + 1
                if len(names) == 100 or (names and left < _REST_CHARACTERS):
                    names.append(f"[for the rest call this tool again with offset={number}]")
                    break
                names.append(uri)
        except (LookupError, ValueError, OSError) as error:
            raise AgentError(f"{text_of(error)} Try {KERNELS}") from error
        if offset and not names:
            raise AgentError(f"expected offset below the number of programs, got {offset}")
        return "\n".join([*names, others])

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
            program = text_program(self._compiler, source, language, flags)
        elif file:
            program = file_program(self._compiler, self._root, file, flags)
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
            before = self._cost(branch, "instructions")
            rows: list[tuple[object, ...]] = [("pass", "changed", "instructions")]
            for step in self._apply(branch, passes):
                rows.append((step.name, "yes" if step.has_changed else "no", step.instructions))
            after = self._cost(branch, "instructions")
            return self._page(
                f"{table(rows)}\ninstructions: {before} before, {after} now "
                f"({versus(after, before)})"
            )

    def undo(self, count: int = 1) -> str:
        """Takes back the last passes of the current branch.

        Args:
            count: How many passes to take back.
        """
        with self._lock:
            branch = self._branch()
            self._check_count(branch, count)
            branch.undo(count)
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
            start = self._cost(branch, objective)
            results = [*self._tried(branch, sequences, objective)]
            oz = self._baseline(branch, objective, "Oz")
            rows: list[tuple[object, ...]] = [
                ("list", objective, "now to best", "best to -Oz", "best after")
            ]
            best: tuple[int, int, list[str]] | None = None
            for number, names, cost, length, error in results:
                if cost is None:
                    rows.append((f"{number}: {error}", "-", "-", "-", "-"))
                    continue
                after = plural(length, "pass", "passes")
                rows.append((number, cost, versus(cost, start), versus(cost, oz), after))
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
        self, branch: Variant, sequences: Sequence[Sequence[str]], objective: Objective
    ) -> Iterator[tuple[int, list[str], int | None, int, str]]:
        """Yields the number, the passes, the lowest cost, after how many passes, and the error."""
        deadline = time.monotonic() + self.limits.call_seconds
        for number, sequence in enumerate(sequences):
            names = [*sequence]
            with closing(branch.fork()) as trial:
                best, length = self._cost(trial, objective), 0
                try:
                    for index, name in enumerate(names, start=1):
                        step = self._step(trial, name, deadline)
                        is_last = index == len(names)
                        if not step.has_changed and not is_last:
                            continue
                        if objective != "bytes" or is_last:
                            cost = self._cost(trial, objective)
                            if cost < best:
                                best, length = cost, index
                except (ActionFailed, AgentError, ServiceError) as error:
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
            if not 1 <= len(name) <= 40 or not name.isprintable() or name in self._branches:
                raise AgentError(
                    f"expected a new name of 1 to 40 printable characters, got {name!r}; there are "
                    f"{', '.join(self._branches)}. Call switch_branch to go to one"
                )
            if len(self._branches) >= self.limits.branches:
                raise AgentError(
                    f"expected at most {self.limits.branches} branches; drop one with drop_branch"
                )
            self._branches[name] = branch.fork()
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
            self._branches.pop(name).close()
            return self.branches()

    def branches(self) -> str:
        """Lists the branches with their costs; the current one has a star."""
        with self._lock:
            self._branch()
            rows: list[tuple[object, ...]] = [("branch", "passes", "instructions")]
            for name, branch in self._branches.items():
                star = "*" if name == self._current else ""
                cost = self._cost(branch, "instructions")
                rows.append((f"{name}{star}", len(branch.passes), cost))
            return self._page(table(rows))

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
        """Verifies the program of the current branch, see :func:`verify`.

        An equal program of a data set that was right before is not verified again.
        """
        with self._lock:
            branch, program = self._branch(), self._program
            assert program is not None
            self._to_verify = None
            check = self._check(repeat_with_opt)
            if program.is_own:  # Others may have the same name.
                return check(branch.env)
            key = self._verdict_key(branch, repeat_with_opt)
            return self._compiler.verified(key, lambda: check(branch.env))

    def verify_soon(self) -> None:
        """Begins to verify the current branch in the background, so that :meth:`verdict` is quick.

        The verification begins after a pause in these calls, and only for the newest state.

        Does nothing for an agent's own program, because its verdict is not kept.
        """
        with self._lock:
            branch, program = self._branch(), self._program
            assert program is not None
            passes = self._to_verify = [*branch.passes]
        if not program.is_own:
            self._compiler.in_background(lambda: self._verify_now(branch, program, passes))

    def _verify_now(self, branch: Variant, program: OpenedProgram, passes: list[str]) -> None:
        """Verifies a branch, unless it has changed or its program is known to be right."""
        with self._lock:
            if self._to_verify is not passes or branch.passes != passes:
                return
            ir_sha1, key, check = self._ir_sha1(branch), self._verdict_key(branch), self._check()
            if self._compiler.is_verified(key):
                return
            # After a fork, a session copies each page of memory that it writes to. That would slow
            # down the next calls of the agent.
            is_long = len(passes) > _MAX_REPEATED_PASSES
            copy = branch.env.fork() if is_long else self._copy(program, passes)
        with copy as env:
            if env.ir_sha1 == ir_sha1:  # Some passes depend on addresses.
                self._compiler.verified(key, lambda: check(env))

    def _check(self, repeat_with_opt: bool = False) -> Callable[[LlvmEnv], Verdict]:
        """Returns a function that verifies the open program in the state of an environment."""
        assert self._program is not None
        symbols, seconds = self._symbols, self.limits.run_seconds
        may_run = self._may_run and (not self._program.is_own or "main" in symbols)
        return lambda env: verify(env, symbols, may_run, seconds, repeat_with_opt)

    def _verdict_key(self, branch: Variant, repeat_with_opt: bool = False) -> tuple[str, ...]:
        """Returns a key that only equal programs with equal checks have."""
        assert self._program is not None
        flags = str(self._may_run), str(repeat_with_opt)
        return self._program.name, self._ir_sha1(branch), *flags

    def score(self, objective: Objective = "instructions") -> float:
        """Returns the reduction of a cost divided by that of -Oz: 1 is as good as -Oz.

        The score is at least 0, so that a broken program, which gets 0, never beats a bad one, and
        at most :data:`MAX_SCORE`. If -Oz saves almost nothing, a tenth of the cost counts as 1.
        """
        self._check_objective(objective)
        with self._lock:
            branch = self._branch()
            start = self._baseline(branch, objective, "O0")
            saved_by_oz = abs(start - self._baseline(branch, objective, "Oz"))
            share = (start - self._cost(branch, objective)) / max(
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
            if file and format in ("opt", "python"):
                raise AgentError(
                    f"expected format object, bitcode or ir for the file {file!r}, got {format!r}, "
                    "which is text: leave out file"
                )
            if format == "opt":
                return branch.env.commandline()
            if format == "python":
                return python_program(self._program, branch.passes)
            size = branch.call(lambda env: write_file(env, self._root, format, file))
            return f"wrote {file}, {size} bytes"


TOOLS = (
    *("list_programs", "open_program", "list_passes", "describe_pass", "apply_passes", "undo"),
    *("try_sequences", "fork", "switch_branch", "drop_branch", "branches", "describe", "compare"),
    *("function_sizes", "read_function", "control_flow", "diff", "remarks", "validate", "export"),
)
"""The names of the methods that are tools."""
