"""Tries the changes of the size portfolio on generated programs, for hours if need be.

Each seed is a program, a machine, a way of linking, options, and changes of the compilation. What
was tried and what was wrong is kept in a state file, with which the next run goes on. Without that
file, a run goes on from the published counts::

    bazel run //tests/tuning/size:codegen_trials -- --hours 1 --jobs 1

One seed again, as after it was wrong, with the files kept in a folder::

    bazel run //tests/tuning/size:codegen_trials -- --seed 17 --keep /tmp/17

The counts go into the repository and the tables of ``docs/guides/code-size-safety.md`` with::

    bazel run //tests/tuning/size:codegen_trials -- --hours 0 --state FILE --publish $PWD

Trials that do not include the published ones are refused.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.compilation import Change, is_setting
from compiler_gym.util.commands import CommandError, kill_running_commands, run_command
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import runfiles_path
from tests.tuning.size.generated_programs import SPECIAL_CONTENTS, GeneratedProgram, generate
from tests.tuning.size.trial import (
    AARCH64,
    WAYS,
    X86_64,
    Failure,
    Target,
    Trial,
    Way,
    random_changes,
)
from tests.tuning.size.trial_counts import COUNTS, with_counts
from tests.tuning.size.trial_totals import FewerTrialsError, Totals

_CHANGES = 8
_COUNTS = "tests/tuning/size/codegen/trial_counts.json"
_DOCUMENT = "docs/guides/code-size-safety.md"
_CSMITH_SECONDS = 1800
_POLL_SECONDS = 0.1
_KERNELS = "compiler_gym/data/kernels-v0"
_DRIVER = "int program_main();\nint main(void) { return program_main(); }\n"
_LEVELS = ("-Oz", "-Oz", "-Oz", "-Os", "-O2")
_OPTIONS = (
    ("-g",),
    ("-fno-omit-frame-pointer",),
    ("-fstack-protector-strong",),
    ("-fcf-protection",),
    ("-mtls-dialect=gnu2",),
)
_SANITIZERS = (
    ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    ("-fsanitize=thread",),
    ("-fsanitize=undefined", "-fsanitize-trap=undefined"),
)
# Of x86-64 alone, or with libraries that Debian has for the machine itself.
_X86_ONLY = (
    *("-fcf-protection", "-mtls-dialect=gnu2"),
    *("-fsanitize=address,undefined", "-fsanitize=thread"),
)
# Options that change frames, registers, code models or the kinds of calls.
_BOTH_SPECIAL = (
    *("-fsanitize=kcfi", "-fstack-clash-protection", "-fzero-call-used-regs=used"),
    *("-ftrivial-auto-var-init=pattern", "-fpatchable-function-entry=4", "-fwrapv"),
)
_SPECIAL_OPTIONS = {
    X86_64: (
        *_BOTH_SPECIAL,
        *("-mno-red-zone", "-mcmodel=medium", "-mcmodel=large", "-fsplit-stack", "-mstackrealign"),
        *("-fsanitize=safe-stack", "-mretpoline", "-mharden-sls=all", "-march=x86-64-v3"),
    ),
    AARCH64: (
        *_BOTH_SPECIAL,
        *("-mcmodel=tiny", "-mbranch-protection=standard", "-ffixed-x27", "-mharden-sls=all"),
    ),
}
# Functions of generated programs that do not work with an option of plain clang.
_MOVES_FRAMES = ("frame", "borrowed frame")
_HAS_RUNTIME = (*_MOVES_FRAMES, "stack", "deep", "interrupt", "from assembly")
_UNSUITABLE = {
    "-fno-omit-frame-pointer": _MOVES_FRAMES,
    "-mstackrealign": (*_MOVES_FRAMES, "deep"),
    "-fsplit-stack": (*_MOVES_FRAMES, "naked", "interrupt", "from assembly"),
    "-fzero-call-used-regs=used": ("interrupt",),
    "-fsanitize=safe-stack": (*_MOVES_FRAMES, "stack"),
    "-fsanitize=address,undefined": _HAS_RUNTIME,
    "-fsanitize=thread": _HAS_RUNTIME,
}


@dataclass(frozen=True)
class Case:
    """One seed.

    Attributes:
        kind: Where its program comes from.
        program: The program.
        target: The machine.
        way: The way of linking.
        options: Options of clang.
    """

    kind: str
    program: GeneratedProgram
    target: Target
    way: Way
    options: tuple[str, ...]


def make_case(seed: int) -> Case:
    """Returns what is tried with a seed."""
    choose = random.Random(f"case {seed}")
    target = choose.choice([X86_64, X86_64, X86_64, AARCH64])
    options: tuple[str, ...] = (choose.choice(_LEVELS),)
    for some in _OPTIONS:
        if choose.random() < 0.15:
            options += _known_to(target, some)
    if choose.random() < 0.15:
        options += _known_to(target, choose.choice(_SANITIZERS))
    options += _special_options(seed, target, options)
    way = choose.choice(WAYS)
    if not way.is_lto and choose.random() < 0.5:
        way = replace(way, link=(*way.link, "-fuse-ld=lld"))
    kind = choose.choices(["generated", "csmith", "kernels-v0"], [8, 1, 1])[0]
    if kind == "csmith":
        program = _csmith(seed)
    elif kind == "kernels-v0":
        program = _kernel(choose)
    else:
        without = {kind for each in options for kind in _UNSUITABLE.get(each, ())}
        # Without the optional passes, LLVM leaves coroutines to the linker as they are.
        without |= {"coroutine"} if way.is_lto else set()
        # Beside special contents, a search has no options for all functions.
        without |= {SPECIAL_CONTENTS} if seed % 2 else set()
        program = generate(seed, target.name, without)
    if any("sanitize" in each or each == "-fsplit-stack" for each in options):
        # Their runtime handles signals, and wants to be the first library. A handler may need more
        # than the part of a split stack.
        program = replace(program, modes=("plain",), override={})
    elif kind == "generated" and choose.random() < 0.2:
        program = replace(program, modes=("plain", "step-all", "alarm", "backtrace"))
    return Case(kind, program, target, way, options)


def _known_to(target: Target, options: tuple[str, ...]) -> tuple[str, ...]:
    return options if target is X86_64 or options[0] not in _X86_ONLY else ()


def _special_options(seed: int, target: Target, options: Sequence[str]) -> tuple[str, ...]:
    """Returns further options, with choices of their own: other options of a seed stay."""
    choose = random.Random(f"special options {seed}")
    if choose.random() < 0.5:
        return ()
    some = choose.sample(_SPECIAL_OPTIONS[target], choose.randint(1, 2))
    has_sanitizer = any("sanitize" in each for each in options)
    alone = [each for each in some if "sanitize" in each]
    return tuple(
        each for each in some if each not in alone or (not has_sanitizer and each == alone[0])
    )


def generated_program(seed: int, target: Target) -> GeneratedProgram:
    """Returns a program that is run as it is: of the generator, of Csmith, or a kernel."""
    choose = random.Random(f"one run {seed}")
    if seed % 10 == 0:
        return _csmith(seed)
    program = _kernel(choose) if seed % 10 == 5 else generate(seed, target.name)
    return replace(program, modes=("plain",), override={})


def csmith_program(seed: int, *options: str) -> str:
    """Returns the text of a program of Csmith."""
    words = ["csmith", "--seed", str(seed + 1), "--max-funcs", "6", *options]
    # It writes a file into the current folder.
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        return run_command(words, _CSMITH_SECONDS, cwd=folder).stdout


def _csmith(seed: int) -> GeneratedProgram:
    text = csmith_program(seed).replace('"csmith.h"', '"/usr/include/csmith/csmith.h"')
    return _with_driver(text, "")


def _kernel(choose: random.Random) -> GeneratedProgram:
    folder = choose.choice(sorted(Path(runfiles_path(_KERNELS)).glob("*/program.c"))).parent
    read = (folder / name for name in ("program.c", f"input-{choose.randrange(2)}.txt"))
    # An input with other bytes is another input, but the same for all compilers.
    return _with_driver(*(path.read_text(encoding="utf-8", errors="replace") for path in read))


def _with_driver(text: str, stdin: str) -> GeneratedProgram:
    library = {"library.c": f"#define main program_main\n{text}"}
    return GeneratedProgram(library, {"main.c": _DRIVER}, modes=("plain",), input=stdin)


def try_seed(seed: int, folder: Path) -> Totals:
    """Tries one seed, prints what is wrong, and returns the totals of it."""
    found = Totals(first_seed=seed, next_seed=seed + 1)
    try:
        _try_case(make_case(seed), folder, found)
    except (AssertionError, BenchmarkInitError, subprocess.TimeoutExpired):
        found.disputed.append(seed)
    except (CommandError, ValueError) as error:
        found.unbuilt.append(seed)
        print(json.dumps({"seed": seed, "error": str(error)[-1500:]}), flush=True)
    return found


def _try_case(case: Case, folder: Path, found: Totals) -> None:
    seed, name = found.first_seed, f"{case.target.name} {case.way.name}"
    trial = Trial(case.program, case.target, case.way, folder, case.options)
    choice = random_changes(random.Random(f"changes {seed}"), _CHANGES)
    failures = trial.failures(choice, trial.expected())
    found.programs[case.kind] += 1
    found.builds[name] += trial.builds
    for option in {*case.options, *case.way.link}:
        found.options[f"{case.target.name} {option}"] += trial.builds
    found.uses.update(
        f"{case.target.name} {use}" for change in trial.tried for use in _uses(change)
    )
    found.runs += trial.runs
    found.taken_back += trial.taken_back
    found.clangs += [seed] if trial.left_out else []
    for each in failures:
        kind = found.unwinding if each.mode.startswith("step") else found.wrong
        kind.append(seed)
        print(json.dumps(_described(seed, name, case.options, each)), flush=True)


def _uses(change: Change) -> set[str]:
    options = {option.partition(":")[0] for option in change.options}
    # A function's name comes before the attribute that it loses.
    options = {each.partition("=")[0] if "force-remove" in each else each for each in options}
    calls = {f"call {'inlined' if inline else 'kept'}" for _, inline in change.calls}
    adjusted = {text for _, texts in change.functions for text in texts}
    adjusted = {text if is_setting(text) else f"without {text}" for text in adjusted}
    return {*options, *change.passes, *change.sequence, *calls, *adjusted}


def _described(seed: int, name: str, options: Sequence[str], failure: Failure) -> dict[str, Any]:
    return {
        "seed": seed,
        "way": name,
        "options": [*options],
        "mode": failure.mode,
        "change": asdict(failure.change),
        "got": failure.got[-400:],
    }


class _Runner:
    """Tries seed after seed until the time is over."""

    def __init__(self, path: Path, totals: Totals, hours: float):
        self._path = path
        self._totals = totals
        self._cpu_before = totals.cpu_seconds
        self._end = time.monotonic() + hours * 3600
        self._lock = threading.Lock()
        self._is_stopped = False
        self._begin = threading.Event()

    def run(self, jobs: int) -> Totals:
        """Returns the totals. Ctrl-C loses no more than the programs that are being tried."""
        with ThreadPoolExecutor(jobs) as pool:
            futures: list[Future[None]] = []
            try:
                futures.extend(pool.submit(self._work) for _ in range(jobs))
                self._begin.set()
                for future in futures:
                    # Ctrl-C just before a wait without an end would not end it.
                    while wait([future], _POLL_SECONDS).not_done:
                        pass
                    future.result()
            except KeyboardInterrupt:
                self._stop(futures)
                raise
        return self._totals

    def _stop(self, futures: Sequence[Future[None]]) -> None:
        with self._lock:
            self._is_stopped = True
        self._begin.set()
        # What a thread is doing may start further commands.
        while wait(futures, _POLL_SECONDS).not_done:
            kill_running_commands()

    def _work(self) -> None:
        self._begin.wait()
        while time.monotonic() < self._end and not self._is_stopped:
            with self._lock:
                seed = self._totals.next_seed
                self._totals.next_seed += 1
            with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
                found = try_seed(seed, Path(folder))
            with self._lock:
                if self._is_stopped:
                    # Killed commands are no findings.
                    return
                self._totals.add(found)
                self._totals.cpu_seconds = self._cpu_before + _cpu_seconds()
                self._totals.write(self._path)
                print(self._totals, flush=True)


def publish(totals: Totals, repository: Path) -> None:
    """Replaces the published counts, and the tables that show them.

    Args:
        totals: The trials.
        repository: The root of the sources.

    Raises:
        FewerTrialsError: If some trials would not count any more.
    """
    path = repository / _COUNTS
    totals.check_contains(Totals.read(path))
    totals.write(path)
    document = repository / _DOCUMENT
    text = with_counts(document.read_text(encoding="utf-8"), totals)
    with atomic_file_write(document, fileobj=True, mode="w") as file:
        file.write(text)


def _cpu_seconds() -> float:
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0, help="How long to go on.")
    parser.add_argument("--jobs", type=int, default=1, help="Programs at a time.")
    parser.add_argument(
        "--state", default="codegen-trials.json", help="The file with all that was tried."
    )
    parser.add_argument("--publish", help="A repository whose counts and tables are to be updated.")
    parser.add_argument("--seed", type=int, help="Try only this seed, and print the totals of it.")
    parser.add_argument("--keep", help="With --seed: an empty folder for the files of the program.")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Runs the command."""
    arguments = _arguments(words)
    start = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    if arguments.seed is None:
        repository = start / arguments.publish if arguments.publish else None
        state = start / arguments.state
        published = repository / _COUNTS if repository else COUNTS
        totals = Totals.read(state if state.exists() else published)
        try:
            totals = _Runner(state, totals, arguments.hours).run(arguments.jobs)
            if repository:
                publish(totals, repository)
        except FewerTrialsError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"Stopped. The same command goes on with {state}.", file=sys.stderr)
            return 128 + signal.SIGINT
    else:
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as temporary:
            folder = start / arguments.keep if arguments.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            totals = try_seed(arguments.seed, folder)
    print(totals)
    return 1 if totals.wrong or totals.unbuilt else 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
