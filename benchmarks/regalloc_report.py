"""Compares the answers ``default`` of ``llvm-regalloc-v0`` with ``clang -Oz``, on real files.

Draws files of ``opensource-v0``, or takes all programs of ``kernels-v0``, answers each question of
the register allocator with ``default``, and compares two things with ``clang -Oz -c -fno-addrsig``:

- the object file, byte for byte. clang begins with the program as ``llvm-v0`` shows it before the
  first action. Services drop the module flags of a program, such as the level of PIE, so that this
  is not quite the program of the dataset.
- the bytes of code. clang begins with the program of the dataset.

Prints how many files were asked about, equal, and left out with the reason, and the questions
answered per second. Run it with::

    bazel run //benchmarks:regalloc_report -- --files 100
    bazel run //benchmarks:regalloc_report -- --kernels --action-space Priorities --at-once 1000
"""

import argparse
import random
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import compiler_gym
from compiler_gym.datasets import BenchmarkUri, round_robin_iterables
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.tuning.size.inputs import known_program
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools

ID = "llvm-regalloc-v0"
_DATASET, _KERNELS = "benchmark://opensource-v0", "benchmark://kernels-v0"
# Small archives of many subjects.
_PACKAGES = (
    *("argon2-cffi-bindings", "cmarkgfm", "datrie", "ecos", "ephem", "freesasa", "hiredis"),
    *("httptools", "inflate64", "mappy", "misaka", "pyerfa", "pyescrypt", "pyliblzfse", "pynacl"),
    *("pynng", "pyspx", "scrypt", "scs", "selectolax", "ujson", "webrtcvad", "yara-python"),
    "zopfli",
)
_CLANG_SECONDS = 300


@dataclass
class Totals:
    """The results for all files so far.

    Attributes:
        equal: Files whose object file is that of clang.
        equal_code: Files whose bytes of code are as many as clang makes of the dataset's program.
        different: The URIs of the others.
        left_out: The number of files that could not be compared, by the reason.
        without_questions: Files about which LLVM asks nothing; they are among the equal ones too.
        questions: Questions that were answered.
        seconds: The time that the answers took, without ``reset()``.
    """

    equal: int = 0
    equal_code: int = 0
    different: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    without_questions: int = 0
    questions: int = 0
    seconds: float = 0.0

    def leave_out(self, reason: str) -> None:
        """Counts a file that cannot be compared."""
        self.left_out[reason.partition("\n")[0]] += 1

    def __str__(self) -> str:
        asked = self.equal + len(self.different)
        lines = [
            f"{asked + self.left_out.total()} files drawn",
            f"{asked} files asked about, {self.without_questions} of them without any question",
            f"{self.equal} equal to clang -Oz, {len(self.different)} different",
            *self.different,
            f"{self.equal_code} with as much code as clang -Oz makes of the dataset's program",
            *(f"{count} left out: {reason}" for reason, count in self.left_out.items()),
            f"{self.questions:,} questions, {self.questions / max(self.seconds, 1e-9):,.0f}/s",
        ]
        return "\n".join(lines)


def draw(uris: Sequence[str], packages: Sequence[str], count: int, seed: int) -> list[str]:
    """Returns files, in turn from each package, in random order within a package."""
    groups: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        groups[BenchmarkUri.from_string(uri).path.split("/")[1]].append(uri)
    rng = random.Random(seed)
    shuffled = [rng.sample(groups[name], len(groups[name])) for name in packages]
    return [*islice(round_robin_iterables(shuffled), count)]


def compare(env: Any, passes: Any, uri: str, totals: Totals, at_once: int) -> None:
    """Plays an episode of ``default`` about a file, and adds the result to the totals.

    Args:
        env: An environment ``llvm-regalloc-v0``.
        passes: An environment ``llvm-v0``.
        uri: The file.
        totals: The results so far.
        at_once: The most answers in one step.
    """
    try:
        env.reset(benchmark=uri)
        passes.reset(benchmark=uri)
    except (BenchmarkInitError, ServiceError, TimeoutError, ValueError) as error:
        totals.leave_out(f"reset: {type(error).__name__}: {error}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown, program, made = folder / "shown.bc", folder / "program.bc", folder / "made.o"
        passes.write_bitcode(shown)
        add_attributes(shown.read_bytes(), program, ["optsize", "minsize"])
        original = known_program(env.datasets, uri, folder).path
        try:
            expected, of_dataset = _compile(program), _compile(original)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            totals.leave_out(f"clang: {type(error).__name__}")
            return
        count = len(env.observation[env.action_space.name]["default"])
        begin = time.monotonic()
        for first in range(0, count, at_once):
            _, reward, *_ = env.multistep(["default"] * min(at_once, count - first))
            if reward is None:
                totals.leave_out("a step failed")
                return
        totals.seconds += time.monotonic() - begin
        totals.questions += count
        totals.without_questions += count == 0
        env.write_object(made)
        totals.equal_code += read_object(made).text == read_object(of_dataset).text
        if made.read_bytes() == expected.read_bytes():
            totals.equal += 1
        else:
            totals.different.append(uri)


def _compile(program: Path) -> Path:
    output = program.with_suffix(".o")
    command = [llvm_tools.clang_path(), "-Oz", "-c", "-w", "-fno-addrsig", program, "-o", output]
    subprocess.run(command, check=True, capture_output=True, timeout=_CLANG_SECONDS)
    return output


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="of opensource-v0; by default 24 of them")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true", help="kernels-v0 in place of files")
    parser.add_argument("--action-space", default="Evictions", choices=("Evictions", "Priorities"))
    parser.add_argument("--at-once", type=int, default=1, help="answers in one step")
    arguments = parser.parse_args(words)
    totals = Totals()
    game = compiler_gym.make(ID, action_space=arguments.action_space)
    with game as env, compiler_gym.make("llvm-v0") as passes:
        if arguments.kernels:
            files = [*env.datasets[_KERNELS].benchmark_uris()]
        else:
            uris = [*env.datasets[_DATASET].benchmark_uris()]
            packages = arguments.packages or _PACKAGES
            files = draw(uris, packages, arguments.files, arguments.seed)
        for number, uri in enumerate(files, 1):
            compare(env, passes, uri, totals, arguments.at_once)
            print(f"{number} {uri}", flush=True)
    print(totals)


if __name__ == "__main__":
    main()
