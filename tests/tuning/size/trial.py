"""Builds a program in one of several ways with changes of the compilation, and runs it."""

import os
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.functions import list_functions
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.portfolio import shipped_portfolio, skippable_passes, toggles
from compiler_gym.tuning.speed.portfolio import moves as speed_moves
from compiler_gym.util.commands import run_command
from tests.tuning.size.generated_programs import GeneratedProgram

_SECONDS = 120
_RUN_SECONDS = 20
_ENDLESS = f"more than {_RUN_SECONDS} s"
_LIBRARIES = ("-l:libstdc++.so.6", "-l:libgcc_s.so.1", "-lm", "-lpthread")
_QUIET = ("-w",)


@dataclass(frozen=True)
class Target:
    """A machine.

    Attributes:
        name: As in the names of its files.
        gcc: Another compiler for it.
        runner: The words before a command that runs there.
    """

    name: str
    gcc: str
    runner: tuple[str, ...] = ()

    @property
    def clang(self) -> list[str]:
        """The command of clang."""
        return [str(tools.clang_path()), f"--target={self.name}-linux-gnu"]


X86_64 = Target("x86_64", "gcc")
AARCH64 = Target(
    "aarch64", "aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
)
TARGETS = (X86_64, AARCH64)


@dataclass(frozen=True)
class Way:
    """A way to compile and link a library and its caller.

    Attributes:
        name: What it is called.
        options: For the compiler of the library.
        link: For the linker.
        is_shared: Whether the library is a file of its own.
        is_interposed: Whether another library comes first and defines some functions again.
    """

    name: str
    options: tuple[str, ...]
    link: tuple[str, ...]
    is_shared: bool = False
    is_interposed: bool = False


_SHARED = ("-fPIC", "-DSHARED")
STATIC = Way("static", ("-fno-pic", "-fno-pie"), ("-no-pie",))
PIE = Way("position-independent", ("-fPIE",), ("-pie",))
LAZY = Way("lazily bound", _SHARED, ("-Wl,-z,lazy",), is_shared=True)
NOW = Way("bound at start", (*_SHARED, "-fno-plt"), ("-Wl,-z,now",), is_shared=True)
INTERPOSED = Way("interposed", (*_SHARED, "-fsemantic-interposition"), ("-Wl,-z,lazy",), True, True)
WAYS = (STATIC, PIE, LAZY, NOW, INTERPOSED)


@dataclass(frozen=True)
class Failure:
    """A result that is not that of other compilers."""

    change: Change
    mode: str
    got: str


class Trial:
    """One program, to be built in one way with changes of the library.

    Args:
        program: The program.
        target: The machine.
        way: How it is compiled and linked.
        folder: An empty folder.
        options: Further options of clang for the library.

    Attributes:
        runs: How often it was run with changes; what was run before is not run again.
        tried: The changes of these, of each unit of the library.
        left_out: The modes in which it is wrong without changes: that is clang's own doing.
    """

    def __init__(
        self,
        program: GeneratedProgram,
        target: Target,
        way: Way,
        folder: Path,
        options: Sequence[str] = (),
    ):
        self.runs = 0
        self.tried: list[Change] = []
        self.left_out: list[str] = []
        self._program = program
        self._target = target
        self._way = way
        self._folder = folder
        self._options = options
        sources = {**program.library, **program.caller, **program.override}
        for name, text in sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        self._caller = [self._compile_caller(name) for name in program.caller if name[-2:] != ".h"]
        self._override = self._make_override()

    def expected(self) -> str:
        """Returns what it prints with clang -O0 and with gcc -O2.

        Raises:
            AssertionError: If that is not the same, or takes too long.
        """
        printed = set()
        plain = [*self._target.clang, "-O0"]
        for compiler in (plain, [self._target.gcc, "-O2"]):
            objects = [
                # Debian's cross compiler of C++ is another package.
                self._compile(plain if name.endswith(".cc") else compiler, name)
                for name in self._program.library
            ]
            printed.add(self._run(self._link(objects), "plain"))
        assert len(printed) == 1, f"compilers do not agree: {self._folder}"
        assert _ENDLESS not in printed, f"the program may have no end: {self._folder}"
        return printed.pop()

    def failures(self, choose: "Choice", expected: str) -> list[Failure]:
        """Builds and runs it with changes.

        Args:
            choose: Returns changes of a unit of the library.
            expected: What it must print.
        """
        made: list[list[tuple[Change, Path]]] = []
        evaluators = []
        try:
            for name in self._program.library:
                evaluators.append(self._evaluator(name))
                made.append(self._objects(evaluators[-1], choose))
            unchanged, *changed = zip(*made, strict=True)
            linked = self._link([path for _, path in unchanged])
            modes = [mode for mode in self._modes() if self._run(linked, mode) == expected]
            self.left_out = [mode for mode in self._modes() if mode not in modes]
            failures = []
            met = {_contents(unchanged)}
            for objects in changed:
                if _contents(objects) in met:
                    continue
                met.add(_contents(objects))
                self.tried += [change for change, _ in objects]
                linked = self._link([path for _, path in objects])
                for mode in modes:
                    got = self._run(linked, mode)
                    self.runs += 1
                    if got != expected:
                        failures += [Failure(change, mode, got) for change, _ in objects]
            return failures
        finally:
            for each in evaluators:
                each.__exit__(None, None, None)

    def _modes(self) -> list[str]:
        # There is no trap flag for other machines, and sanitizers have handlers of their own.
        stepped = not self._target.runner and not any("sanitize" in each for each in self._options)
        return [mode for mode in self._program.modes if stepped or mode != "step"]

    def _evaluator(self, name: str) -> Evaluator:
        folder = self._folder / f"{name}.objects"
        folder.mkdir()
        words = (self._target.clang[1], *self._way.options, *self._options, *_QUIET)
        compilation = Compilation(
            tools.clang_path(), self._folder / name, words, tools.own_passes_path()
        )
        return Evaluator(compilation, folder, Budget()).__enter__()

    def _objects(self, evaluator: Evaluator, choose: "Choice") -> list[tuple[Change, Path]]:
        source = evaluator.evaluate_source()
        changes = choose(evaluator)
        found = {each.change: each.path for each in evaluator.evaluate(changes)}
        # clang refuses some; then there is nothing to be wrong.
        made = [(change, found.get(change, source.path)) for change in changes]
        return [(NO_CHANGE, source.path), *made]

    def _compile_caller(self, name: str) -> Path:
        output = self._folder / f"{name}.o"
        options = ["-O2", "-fPIE"] if self._way is not STATIC else ["-O2", "-fno-pie"]
        red_zone = ["-mno-red-zone"] if self._target is X86_64 else []
        words = [self._target.gcc, *options, *red_zone, *_QUIET, "-c", self._folder / name]
        run_command([*words, "-o", output], _SECONDS)
        return output

    def _compile(self, words: Sequence[str], name: str) -> Path:
        output = self._folder / f"{name}.{Path(words[0]).name}.o"
        kept = [each for each in self._way.options if each != "-fno-plt"]
        command = [*words, *kept, *_QUIET, "-c", self._folder / name, "-o", output]
        run_command(command, _SECONDS)
        return output

    def _make_override(self) -> list[Path]:
        if not self._way.is_interposed or not self._program.override:
            return []
        output = self._folder / "liboverride.so"
        sources = [self._folder / name for name in self._program.override]
        words = [self._target.gcc, "-O2", "-fPIC", "-shared", *_QUIET, *sources]
        run_command([*words, "-o", output], _SECONDS)
        return [output]

    def _link(self, objects: Sequence[Path]) -> Path:
        program = self._folder / "program"
        sanitizers = [each for each in self._options if "sanitize" in each]
        link = [*self._target.clang, *sanitizers, f"-Wl,-rpath,{self._folder}"]
        parts: list[Path] = [*objects]
        if self._way.is_shared:
            library = self._folder / "library.so"
            words = [*link, *self._way.link, "-shared", *objects, "-o", library, *_LIBRARIES]
            run_command(words, _SECONDS)
            parts = [*self._override, library]
            if program.exists():
                return program
        # The caller has functions that the library calls.
        shown = ["-rdynamic", "-Wl,--no-as-needed"]
        pie = [] if any("pie" in each for each in self._way.link) else ["-pie"]
        words = [*link, *self._way.link, *pie, *shown, *self._caller, *parts, "-o", program]
        run_command([*words, *_LIBRARIES], _SECONDS)
        return program

    def _run(self, program: Path, mode: str) -> str:
        words = [*self._target.runner, program, mode]
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        try:
            done = run_command(
                words, _RUN_SECONDS, env=environment, check=False, stdin=self._program.input
            )
        except subprocess.TimeoutExpired:
            return _ENDLESS
        return done.stdout + (f"exit code {done.returncode}\n" if done.returncode else "")


def _contents(objects: Sequence[tuple[Change, Path]]) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for _, path in objects)


Choice = Callable[[Evaluator], list[Change]]
"""Takes an evaluator of a unit, and returns changes of it."""


@cache
def portfolio_changes() -> tuple[Change, ...]:
    """Returns the entries of the portfolio, and each part alone."""
    parts = [toggle(NO_CHANGE) for toggle in toggles(with_passes=True, with_experimental=True)]
    entries = [known.change for known in shipped_portfolio(with_experimental=True)]
    return tuple(dict.fromkeys([*entries, *parts]))


def every_change(_: Evaluator) -> list[Change]:
    """Chooses all entries and parts of the portfolio."""
    return [*portfolio_changes()]


def random_changes(choose: random.Random, count: int) -> Choice:
    """Returns a choice of changes, each with parts, decisions about calls, and passes left out."""

    def choice(evaluator: Evaluator) -> list[Change]:
        return [_random_change(choose, evaluator) for _ in range(count)]

    return choice


def _random_change(choose: random.Random, evaluator: Evaluator) -> Change:
    change = choose.choice([NO_CHANGE, *portfolio_changes()])
    moves = [*toggles(True, with_experimental=True), *speed_moves(True, with_experimental=True)]
    for toggle in choose.sample(moves, choose.randint(0, 4)):
        change = toggle(change)
    if evaluator.unit is None:
        return change
    if choose.random() < 0.5:
        sites = list_call_sites(evaluator)
        decided = choose.sample(sites, choose.randint(0, min(len(sites), 12)))
        change = change.decide({site.index: choose.random() < 0.5 for site in decided})
    functions = list_functions(evaluator)
    if choose.random() < 0.5:
        for _ in range(choose.randint(1, 3)):
            some = choose.sample([*functions.values()], choose.randint(1, len(functions)))
            change = change.skip({index: choose.choice(skippable_passes()) for index in some})
    if choose.random() < 0.3:
        unmarked = [name for name in functions if ":" not in name and choose.random() < 0.5]
        options = (f"-force-remove-attribute={name}:minsize" for name in unmarked)
        change = replace(change, options=(*change.options, *options))
    return change
