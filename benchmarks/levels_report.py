"""Shows to the byte which attributes and pipelines the levels of clang consist of.

Compiles the built-in programs with each LLVM that is installed, and counts the programs whose
machine code is the same. Run it with::

    bazel run //benchmarks:levels_report
    bazel run //benchmarks:levels_report -- --llvm /usr/lib/llvm-19 --llvm /opt/llvm-23
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command

_STOP = ("-Xclang", "-disable-llvm-passes")
# Clang's default. Tables of addresses become tables of distances only in such code.
_OPT = ("-relocation-model=pic",)
_NEEDED = ("clang", "opt")


@dataclass(frozen=True)
class Spelling:
    """Another way to compile as a level of clang does.

    Attributes:
        level: The level of clang, whose front end makes the bitcode, with its attributes.
        driver: The level at which clang compiles the bitcode; None if ``opt`` optimises it.
        passes: The pipeline of ``opt``.
    """

    level: str
    driver: str | None = None
    passes: str = ""

    @property
    def title(self) -> str:
        """The spelling in words."""
        how = f"clang {self.driver}" if self.driver else f"opt {_OPT[0]} -passes='{self.passes}'"
        return f"clang {self.level} = attributes of {self.level}, {how}"


SPELLINGS = (
    Spelling("-Oz", driver="-Oz"),
    Spelling("-Oz", driver="-O2"),
    Spelling("-Oz", passes="default<Oz>"),
    Spelling("-Oz", passes="default<O2>"),
    Spelling("-O3", driver="-O3"),
    Spelling("-O3", passes="default<O3>"),
)


@dataclass(frozen=True)
class Comparison:
    """The result of one LLVM on one program.

    Attributes:
        program: The program.
        sizes: The bytes of code by level.
        equal: For each of the spellings, whether the code is the same, byte for byte; None if the
            LLVM does not know it.
    """

    program: str
    sizes: dict[str, int]
    equal: dict[Spelling, bool | None]


def compare(llvm: Path, source: Path, folder: Path) -> Comparison:
    """Compiles a program in all ways.

    Args:
        llvm: The folder of an LLVM, with ``bin/clang`` and ``bin/opt``.
        source: The program.
        folder: A scratch folder.

    Raises:
        CommandError: If the program does not compile.
    """
    clang, opt = llvm / "bin" / "clang", llvm / "bin" / "opt"
    unit, optimised, output = (folder / name for name in ("unit.bc", "optimised.bc", "made.o"))

    def read(*words: str | Path) -> ObjectFile:
        run_command([clang, "-w", *words, "-c", "-o", output])
        return read_object(output)

    codes: dict[str, ObjectFile] = {}
    equal: dict[Spelling, bool | None] = {}
    for spelling in SPELLINGS:
        level = spelling.level
        if level not in codes:
            codes[level] = read(level, source)
        run_command([clang, "-w", level, *_STOP, "-emit-llvm", "-c", source, "-o", unit])
        try:
            if spelling.driver:
                made = read(spelling.driver, unit)
            else:
                run_command([opt, *_OPT, f"-passes={spelling.passes}", unit, "-o", optimised])
                # The code generator of -Oz is that of -O2.
                made = read("-O3" if level == "-O3" else "-O2", *_STOP, optimised)
        except CommandError:
            equal[spelling] = None
        else:
            equal[spelling] = made.code == codes[level].code
    return Comparison(source.parent.name, {name: each.text for name, each in codes.items()}, equal)


def report(version: str, comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yields the lines about one LLVM."""
    comparisons = list(comparisons)
    for level in dict.fromkeys(each.level for each in SPELLINGS):
        size = sum(each.sizes[level] for each in comparisons)
        yield f"{version}, clang {level}: {size:,} bytes of code of {len(comparisons)} programs"
    for spelling in SPELLINGS:
        results = [each.equal[spelling] for each in comparisons]
        other = [each.program for each in comparisons if each.equal[spelling] is False]
        line = f"{version}, {spelling.title}: {results.count(True)} equal"
        if None in results:
            line += f", {results.count(None)} not known"
        yield line + (f", {len(other)} not: {', '.join(other)}" if other else "")


def installed() -> list[Path]:
    """Returns the folders of the LLVMs of Debian from 19 on."""
    folders = Path("/usr/lib").glob("llvm-*")
    numbers = {each: re.fullmatch(r"llvm-(\d+)", each.name) for each in folders}
    return sorted(
        each
        for each, match in numbers.items()
        if match and int(match[1]) >= 19 and all((each / "bin" / p).exists() for p in _NEEDED)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--llvm", action="append", type=Path, help="may be repeated")
    parser.add_argument("--programs", nargs="*", help="names of built-in programs; by default all")
    parsed = parser.parse_args(arguments)
    names = parsed.programs or sorted(
        each.parent.name for each in KERNELS_PATH.glob("*/program.c*")
    )
    for llvm in parsed.llvm or installed():
        version = llvm_tools.tool_version(llvm / "bin" / "clang")
        match = re.search(r"version (\S+?)(\s|$)", version)
        comparisons = []
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            for name in dict.fromkeys(names):
                (source,) = (KERNELS_PATH / name).glob("program.c*")
                comparisons.append(compare(llvm, source, Path(folder)))
                print(f"{llvm.name} {name}", file=sys.stderr, flush=True)
        for line in report(f"LLVM {match[1]}" if match else str(llvm), comparisons):
            print(line)


if __name__ == "__main__":
    main()
