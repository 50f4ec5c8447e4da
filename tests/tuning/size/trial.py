"""Builds a program in one of several ways with changes of the compilation, and runs it."""

import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.tuning.size.ranking import function_adjustments, shipped_portfolio, toggles
from compiler_gym.tuning.size.safety import Kind
from compiler_gym.tuning.size.stack import StackPromise
from compiler_gym.tuning.speed.optimizer import moves as speed_moves
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.shell_format import join_cmd
from tests.tuning.size.generated_programs import GeneratedProgram

# Processor time decides whether a program has an end, since trials run at the lowest priority, and
# may be paused. A program that waits for the limit of the wall clock is left out.
_SECONDS = 6 * 3600
_COMPILATION_CPU_SECONDS = 600
_RUN_CPU_SECONDS = 20
_ENDLESS = f"more than {_RUN_CPU_SECONDS} s"
# Deep recursion fits into the usual stack as a loop alone, which it need not be in references.
_STACK_BYTES = 8 << 20
_REFERENCE_STACK_BYTES = 1 << 30
OTHER_LEVELS = ("-O1", "-Os", "-Oz", "-O2", "-O2 -fno-unroll-loops -fno-jump-tables", "-O3")
"""Levels at which plain clang is tried before a failure under a sanitizer counts."""

_LIBRARIES = ("-l:libstdc++.so.6", "-l:libgcc_s.so.1", "-lm", "-lpthread")
_QUIET = ("-w",)

Object = tuple[Change, Path]
"""An object file of the library, with the change that made it."""

# Object files of callers, which many programs share, by all that they are made of.
_callers: dict[tuple[str, ...], bytes] = {}


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
        return [str(llvm_tools.clang_path()), f"--target={self.name}-linux-gnu"]


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
        is_lto: Whether the machine code of the library is made when it is linked.
    """

    name: str
    options: tuple[str, ...]
    link: tuple[str, ...]
    is_shared: bool = False
    is_interposed: bool = False
    is_lto: bool = False


_SHARED = ("-fPIC", "-DSHARED")
STATIC = Way("static", ("-fno-pic", "-fno-pie"), ("-no-pie",))
PIE = Way("position-independent", ("-fPIE",), ("-pie",))
LAZY = Way("lazily bound", _SHARED, ("-Wl,-z,lazy",), is_shared=True)
NOW = Way("bound at start", (*_SHARED, "-fno-plt"), ("-Wl,-z,now",), is_shared=True)
INTERPOSED = Way("interposed", (*_SHARED, "-fsemantic-interposition"), ("-Wl,-z,lazy",), True, True)
_LTO_LINK = ("-flto", "-fuse-ld=lld")
LTO = Way("LTO", ("-fPIE",), ("-pie", *_LTO_LINK), is_lto=True)
LTO_SHARED = Way("LTO, lazily bound", _SHARED, ("-Wl,-z,lazy", *_LTO_LINK), True, is_lto=True)
WAYS = (STATIC, PIE, LAZY, NOW, INTERPOSED, LTO, LTO_SHARED)


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
        builds: How many different programs were linked with changes.
        runs: How often these were run.
        tried: The changes of these: one for each object file that differs from clang's own.
        taken_back: How many of these failed, and broke the stack promise of the search.
        left_out: The modes in which it is wrong without changes, at the level of the options or,
            under a sanitizer, at another one: that is clang's own doing.
    """

    def __init__(
        self,
        program: GeneratedProgram,
        target: Target,
        way: Way,
        folder: Path,
        options: Sequence[str] = (),
    ):
        self.builds = 0
        self.runs = 0
        self.taken_back = 0
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
        self._links_with_options = False

    def expected(self) -> str:
        """Returns what it prints with clang -O0 and with gcc -O2.

        Raises:
            AssertionError: If that is not the same, or takes too long.
            subprocess.TimeoutExpired: If it waits for something.
        """
        printed = set()
        # Without a frame pointer, assembly may overwrite its register as at other levels.
        plain = [*self._target.clang, "-O0", "-fomit-frame-pointer"]
        for compiler in (plain, [self._target.gcc, "-O2"]):
            objects = [
                # Debian's cross compiler of C++ is another package.
                self._compile(plain if name.endswith(".cc") else compiler, name)
                for name in self._program.library
            ]
            unchanged = [(NO_CHANGE, each) for each in objects]
            printed.add(self._run(self._link(unchanged), "plain", _REFERENCE_STACK_BYTES))
        assert len(printed) == 1, f"compilers do not agree: {self._folder}"
        assert _ENDLESS not in printed, f"the program may have no end: {self._folder}"
        return printed.pop()

    def failures(self, choose: "Choice", expected: str) -> list[Failure]:
        """Builds and runs it with changes.

        Args:
            choose: Returns changes of a unit of the library.
            expected: What it must print.

        Raises:
            AssertionError: If clang alone does not link it.
            CommandError: If it does not link with changes.
        """
        made: list[list[Object]] = []
        evaluators: list[Evaluator] = []
        try:
            for name in self._program.library:
                evaluators.append(self._evaluator(name))
                made.append(self._objects(evaluators[-1], choose))
            # A search sees a program for LTO as one source.
            self._links_with_options = self._way.is_lto and all(
                Kind.OPTIONS not in each.limits.without for each in evaluators
            )
            unchanged, *changed = zip(*made, strict=True)
            try:
                linked = self._link(unchanged)
            except CommandError as error:
                raise AssertionError(f"clang alone does not link it: {error}") from error
            modes = [mode for mode in self._modes() if self._run(linked, mode) == expected]
            self.left_out = [mode for mode in self._modes() if mode not in modes]
            failures = []
            plain = self._contents(unchanged)
            met = {plain}
            for objects in changed:
                contents = self._contents(objects)
                if contents in met:
                    continue
                met.add(contents)
                differ = zip(objects, contents, plain, strict=True)
                self.tried += [change for (change, _), made, own in differ if made != own]
                self.builds += 1
                found = self._failing(objects, modes, expected)
                if found and (promised := _promised(objects, unchanged, evaluators)) != objects:
                    # A search takes back what breaks the stack promise.
                    self.taken_back += 1
                    found = self._failing(promised, modes, expected)
                failures += found
            return self._without_those_of_clang(failures)
        finally:
            for each in evaluators:
                each.__exit__(None, None, None)

    def _failing(
        self, objects: Sequence[Object], modes: Sequence[str], expected: str
    ) -> list[Failure]:
        linked = self._link(objects)
        results = {mode: self._run(linked, mode) for mode in modes}
        self.runs += len(results)
        return [
            Failure(change, mode, got)
            for mode, got in results.items()
            if got != expected
            for change, _ in objects
        ]

    def _without_those_of_clang(self, failures: list[Failure]) -> list[Failure]:
        """Leaves out failures under a sanitizer that plain clang has at some other level, too."""
        if not failures or not any("sanitize" in each for each in self._options):
            return failures
        programs = {level: self._compile_at(level) for level in OTHER_LEVELS}
        plain = {
            (each.mode, self._run(self._link(objects), each.mode)): level
            for level, objects in programs.items()
            for each in failures
        }
        found = {(each.mode, each.got) for each in failures}
        self.left_out += [f"{key[0]} at {level}" for key, level in plain.items() if key in found]
        return [each for each in failures if (each.mode, each.got) not in plain]

    def _compile_at(self, level: str) -> list[Object]:
        """Returns object files of plain clang at another level."""
        words = [*self._target.clang, *self._options, *level.split()]
        words += ["-flto"] if self._way.is_lto else []
        suffix = f"clang{level.replace(' ', '')}.o"
        return [(NO_CHANGE, self._compile(words, name, suffix)) for name in self._program.library]

    def _modes(self) -> list[str]:
        # There is no trap flag for other machines, and sanitizers have handlers of their own.
        stepped = not self._target.runner and not any("sanitize" in each for each in self._options)
        return [mode for mode in self._program.modes if stepped or not mode.startswith("step")]

    def _evaluator(self, name: str) -> Evaluator:
        folder = self._folder / f"{name}.objects"
        folder.mkdir()
        words = (
            *(self._target.clang[1], *_language(name), *self._way.options),
            *(*self._options, *_QUIET),
        )
        compilation = Compilation(
            self._limited_clang(), self._folder / name, words, llvm_tools.own_passes_path()
        )
        return Evaluator(compilation, folder, Budget()).__enter__()

    def _limited_clang(self) -> Path:
        """Returns a clang whose processor time is limited."""
        path = self._folder / "clang"
        command = [*_limited(_COMPILATION_CPU_SECONDS), llvm_tools.clang_path()]
        path.write_text(f'#!/bin/sh\nexec {join_cmd(command)} "$@"\n', encoding="utf-8")
        path.chmod(0o700)
        return path

    def _objects(self, evaluator: Evaluator, choose: "Choice") -> list[Object]:
        source = evaluator.evaluate_source()
        changes = [evaluator.limited(each) for each in choose(evaluator)]
        if self._way.is_lto:
            return self._bitcode(evaluator, [NO_CHANGE, *changes])
        found = {each.change: each.path for each in evaluator.evaluate(changes)}
        # clang refuses some; then there is nothing to be wrong.
        made = [(change, found.get(change, source.path)) for change in changes]
        return [(NO_CHANGE, source.path), *made]

    def _bitcode(self, evaluator: Evaluator, changes: Sequence[Change]) -> list[Object]:
        """Returns object files for link-time optimisation, the first in place of any refused."""
        made: list[Object] = []
        for number, change in enumerate(changes):
            name = evaluator.compilation.source.name
            path = self._folder / f"{name}.{number}.lto"
            try:
                run_command([*evaluator.command(change, path), "-flto"], _SECONDS)
                made.append((change, path))
            except CommandError:
                made.append((NO_CHANGE, made[0][1]))
        return made

    def _contents(self, objects: Sequence[Object]) -> tuple[bytes, ...]:
        """Returns what tells the object files of a link from others."""
        link = "\0".join(self._link_options(objects)).encode()
        return tuple(path.read_bytes() + link for _, path in objects)

    def _link_options(self, objects: Sequence[Object]) -> list[str]:
        """Returns options of LLVM for the linker: those of the first object file, with LTO.

        A search has none if any function of the program is excluded.
        """
        options = objects[0][0].options if self._links_with_options else ()
        return [f"-Wl,-mllvm,{option}" for option in options]

    def _compile_caller(self, name: str) -> Path:
        output = self._folder / f"{name}.o"
        options = ["-O2", "-fPIE"] if self._way is not STATIC else ["-O2", "-fno-pie"]
        red_zone = ["-mno-red-zone"] if self._target is X86_64 else []
        words = [self._target.gcc, *options, *red_zone, *_QUIET, "-c"]
        texts = [self._program.caller[name], self._program.caller.get("functions.h", "")]
        key = (*words, name, *texts)
        if key not in _callers:
            _compile_or_link([*words, self._folder / name, "-o", output])
            _callers[key] = output.read_bytes()
        output.write_bytes(_callers[key])
        return output

    def _compile(self, words: Sequence[str], name: str, suffix: str = "") -> Path:
        output = self._folder / f"{name}.{suffix or Path(words[0]).name + '.o'}"
        if output.exists():
            return output
        kept = [each for each in self._way.options if each != "-fno-plt"]
        options = [*_language(name), *kept, *_QUIET]
        command = [*words, *options, "-c", self._folder / name, "-o", output]
        _compile_or_link(command)
        return output

    def _make_override(self) -> list[Path]:
        if not self._way.is_interposed or not self._program.override:
            return []
        output = self._folder / "liboverride.so"
        sources = [self._folder / name for name in self._program.override]
        words = [self._target.gcc, "-O2", "-fPIC", "-shared", *_QUIET, *sources]
        _compile_or_link([*words, "-o", output])
        return [output]

    def _link(self, objects: Sequence[Object]) -> Path:
        program = self._folder / "program"
        sanitizers = [each for each in self._options if "sanitize" in each]
        link = [*self._target.clang, *sanitizers, f"-Wl,-rpath,{self._folder}"]
        parts = [path for _, path in objects]
        link += self._link_options(objects)
        if self._way.is_shared:
            library = self._folder / "library.so"
            words = [*link, *self._way.link, "-shared", *parts, "-o", library, *_LIBRARIES]
            _compile_or_link(words)
            parts = [*self._override, library]
            if program.exists():
                return program
        # The caller has functions that the library calls.
        shown = ["-rdynamic", "-Wl,--no-as-needed"]
        pie = [] if any("pie" in each for each in self._way.link) else ["-pie"]
        words = [*link, *self._way.link, *pie, *shown, *self._caller, *parts, "-o", program]
        _compile_or_link([*words, *_LIBRARIES])
        return program

    def _run(self, program: Path, mode: str, stack: int = _STACK_BYTES) -> str:
        words = [
            *_limited(_RUN_CPU_SECONDS, f"--stack={stack}"),
            *self._target.runner,
            program,
            mode,
        ]
        words += ["lld"] if "-fuse-ld=lld" in self._way.link else []
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = run_command(words, _SECONDS, env=environment, check=False, stdin=self._program.input)
        if done.returncode == -signal.SIGKILL:
            return _ENDLESS
        return done.stdout + (f"exit code {done.returncode}\n" if done.returncode else "")


def _promised(
    objects: Sequence[Object], unchanged: Sequence[Object], evaluators: Sequence[Evaluator]
) -> tuple[Object, ...]:
    """Returns the object files that keep the stack promise, with clang's in place of others."""
    return tuple(
        own if StackPromise(evaluator).broken_by(each[0]) else each
        for each, own, evaluator in zip(objects, unchanged, evaluators, strict=True)
    )


def _limited(cpu_seconds: int, *others: str) -> list[str]:
    """Returns the words before a command that limit its processor time."""
    return ["prlimit", f"--cpu={cpu_seconds}", *others, "--"]


def _compile_or_link(words: Sequence[str | Path]) -> None:
    run_command([*_limited(_COMPILATION_CPU_SECONDS), *words], _SECONDS)


def _language(name: str) -> list[str]:
    """Returns the options of a source's language: C++ with coroutines."""
    return ["-std=c++20"] if name.endswith(".cc") else []


Choice = Callable[[Evaluator], list[Change]]
"""Takes an evaluator of a unit, and returns changes of it."""


@cache
def portfolio_changes() -> tuple[Change, ...]:
    """Returns the entries of the portfolio, and each part alone."""
    parts = [toggle(NO_CHANGE) for toggle in toggles(with_passes=True, with_experimental=True)]
    entries = [known.change for known in shipped_portfolio(with_experimental=True)]
    return tuple(dict.fromkeys([*entries, *parts]))


def random_changes(choose: random.Random, count: int) -> Choice:
    """Returns a choice of changes, each with parts, decisions about calls, and passes left out."""

    def choice(evaluator: Evaluator) -> list[Change]:
        has_unit = evaluator.unit is not None
        calls = [site.index for site in list_call_sites(evaluator)] if has_unit else []
        functions = list_functions(evaluator) if has_unit else {}
        return [_random_change(choose, calls, functions) for _ in range(count)]

    return choice


def _random_change(
    choose: random.Random, calls: Sequence[int], functions: Mapping[str, int]
) -> Change:
    change = choose.choice([NO_CHANGE, *portfolio_changes()])
    moves = [*toggles(True, with_experimental=True), *speed_moves(True, with_experimental=True)]
    for toggle in choose.sample(moves, choose.randint(0, 4)):
        change = toggle(change)
    if choose.random() < 0.1:
        change = change.plus("mark-for-size<Oz>")
    if not functions:
        return change
    if choose.random() < 0.1:
        change = replace(change, sequence=("skip-rest",))
    if choose.random() < 0.5:
        decided = choose.sample(calls, choose.randint(0, min(len(calls), 12)))
        change = change.decide({index: choose.random() < 0.5 for index in decided})
    if choose.random() < 0.5:
        for _ in range(choose.randint(1, 3)):
            some = choose.sample([*functions.values()], choose.randint(1, len(functions)))
            change = change.adjust(
                {index: (choose.choice(function_adjustments()),) for index in some}
            )
    if choose.random() < 0.3:
        unmarked = [name for name in functions if ":" not in name and choose.random() < 0.5]
        options = (f"-force-remove-attribute={name}:minsize" for name in unmarked)
        change = replace(change, options=(*change.options, *options))
    return change
