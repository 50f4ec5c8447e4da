"""Measures the programs of opensource-v0 and the sealed ones, and finds those that are equal.

    bazel run //tools:measure_opensource -- --keep $PWD/rows.jsonl
    bazel run //tools:measure_opensource -- --check 10

The first command downloads and compiles all programs. It writes programs.csv.gz and duplicates.csv
beside the manifest, and mini.txt unless there is one. With --keep, an interrupted run can be
resumed. The second one measures random programs again, and compares them with the table.
"""

import argparse
import hashlib
import itertools
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import compiler_gym
from compiler_gym.datasets.datasets import round_robin_iterables
from compiler_gym.envs.llvm.datasets.opensource_dataset import (
    DUPLICATES,
    FOLDER,
    MINI,
    OpenSourceDataset,
    OpenSourceSealedDataset,
    packages_of,
)
from compiler_gym.envs.llvm.datasets.opensource_table import ProgramFacts, read_table, write_table
from compiler_gym.envs.thread_environments import ThreadEnvironments
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.thread_pool import map_in_threads

Row = dict[str, Any]

_OBSERVED = {
    "instructions": "IrInstructionCountO0",
    "instructions_oz": "IrInstructionCountOz",
    "code_bytes_oz": "ObjectTextSizeOz",
    "ir_sha1": "IrSha1",
}
_FUNCTION = re.compile(
    r"^define (?P<linkage>[^@]*)@(?P<name>\"[^\"]*\"|[^(]*)\(.*?^}$", re.MULTILINE | re.DOTALL
)
_IS_INLINE = re.compile(r"\b(linkonce|weak|available_externally)")
# Of metadata or attributes.
_NUMBER = re.compile(r"[!#]\d+")
_MINI_SIZES = {"train": 100, "test": 50}
_MINI_INSTRUCTIONS = 20_000
_REPORTED = 100


def main() -> None:
    """Writes or checks the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a file that keeps each row")
    parser.add_argument("--jobs", type=int, help="programs at a time")
    parser.add_argument("--check", type=int, metavar="N", help="measure N programs again")
    arguments = parser.parse_args()
    environments = ThreadEnvironments(partial(compiler_gym.make, "llvm-v0"))
    try:
        if arguments.check:
            sys.exit(check(environments, arguments.check))
        rows = measure_all(environments, FOLDER, arguments.keep, arguments.jobs)
    finally:
        environments.close()
    write(rows, FOLDER)


def measure_all(
    environments: ThreadEnvironments,
    folder: Path,
    keep: Path | None = None,
    jobs: int | None = None,
) -> list[Row]:
    """Returns a row for each program that compiles, in the order of the manifest."""
    lines = keep.read_text().splitlines() if keep and keep.exists() else []
    rows = {row["program"]: row for row in map(json.loads, lines)}
    programs = {
        program: f"{kind.NAME}/{program}"
        for kind in (OpenSourceDataset, OpenSourceSealedDataset)
        for program in _listed(folder, kind.LIST)
    }
    writing = Lock()

    def add(program: str) -> None:
        try:
            row = {"program": program, **measure(environments, programs[program])}
        except (BenchmarkInitError, ServiceError) as error:
            print(f"{program} is left out: {error}", flush=True)
            return
        with writing:
            rows[program] = row
            if keep:
                with keep.open("a") as file:
                    file.write(f"{json.dumps(row)}\n")
            if len(rows) % _REPORTED == 0:
                print(f"{len(rows)} of {len(programs)} programs", flush=True)

    map_in_threads(add, [program for program in programs if program not in rows], jobs)
    return [rows[program] for program in programs if program in rows]


def _listed(folder: Path, name: str) -> list[str]:
    path = folder / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def measure(environments: ThreadEnvironments, uri: str) -> Row:
    """Returns the facts about a program, and the hashes of its functions."""
    env = environments.get()
    benchmark = env.datasets.benchmark(uri)
    env.reset(benchmark=benchmark)
    observed = env.observation.observe(tuple(_OBSERVED.values()))
    facts = {
        name: value if isinstance(value, str) else int(value)
        for name, value in zip(_OBSERVED, observed, strict=True)
    }
    bitcode = benchmark.proto.program.contents
    hashes = function_hashes(bitcode)
    return {**facts, "bitcode_bytes": len(bitcode), "functions": hashes}


def function_hashes(bitcode: bytes) -> dict[str, str]:
    """Returns a hash of the textual IR of each function by name, without its metadata.

    Inline functions of headers are left out. Constants outside of functions do not count.
    """
    command: list[str | Path] = [llvm_tools.llvm_dis_path(), "-", "-o", "-"]
    text = run_command(command, timeout=300, stdin=bitcode, text=False).stdout.decode()
    return {
        found["name"]: _hash_of(_NUMBER.sub("", found[0]))
        for found in _FUNCTION.finditer(text)
        if not _IS_INLINE.search(found["linkage"])
    }


def write(rows: Sequence[Row], folder: Path) -> None:
    """Writes the files in a folder of lists. A list of the small subset stays as it is."""
    table = facts_of(rows, folder)
    write_table(folder, table)
    copies = duplicates(table)
    lines = [f"{copy},{original}\n" for copy, original in copies.items()]
    (folder / DUPLICATES).write_text("".join(["program,same_as\n", *lines]))
    if not (folder / MINI).exists():
        left_out = {*copies, *_listed(folder, OpenSourceSealedDataset.LIST)}
        chosen = mini([facts for facts in table if program_of(facts) not in left_out])
        (folder / MINI).write_text("".join(f"{program}\n" for program in chosen))


def facts_of(rows: Sequence[Row], folder: Path) -> list[ProgramFacts]:
    """Returns the facts of rows, with the numbers of functions that other packages have."""
    packages: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        for function in row["functions"].items():
            packages[function].add(_package_of(row))
    names = (*_OBSERVED, "bitcode_bytes")
    return [
        ProgramFacts(
            **{name: row[name] for name in names},
            benchmark=f"{OpenSourceDataset.NAME}/{row['program']}",
            part=packages_of(folder)[_package_of(row)].part,
            package=_package_of(row),
            functions=len(row["functions"]),
            shared_functions=sum(len(packages[each]) > 1 for each in row["functions"].items()),
            code_hash=_code_hash(row),
        )
        for row in rows
    ]


def duplicates(table: Iterable[ProgramFacts]) -> dict[str, str]:
    """Returns the programs to leave out, each with the equal one that stays.

    Of equal programs, one of the part ``train`` stays, else one of ``validation``. Within a part,
    it is the first by name.
    """
    order = {"train": 0, "validation": 1, "test": 2}
    first: dict[str, str] = {}
    copies = {}
    for facts in sorted(table, key=lambda facts: (order[facts.part], facts.benchmark)):
        program = program_of(facts)
        original = first.setdefault(facts.identity, program)
        if original != program:
            copies[program] = original
    return dict(sorted(copies.items()))


def mini(table: Sequence[ProgramFacts]) -> list[str]:
    """Draws the programs of the small subset.

    Packages take turns until the part is full, in the order of the SHA-256 digests of their names.
    The programs of a package are in the order of the digests of theirs. Left out are programs with
    more than 20,000 instructions.
    """
    chosen: list[str] = []
    for part, count in _MINI_SIZES.items():
        packages = defaultdict(list)
        for facts in table:
            if facts.part == part and facts.instructions <= _MINI_INSTRUCTIONS:
                packages[facts.package].append(program_of(facts))
        turns = [sorted(packages[name], key=_digest) for name in sorted(packages, key=_digest)]
        chosen += itertools.islice(round_robin_iterables(turns), count)
    return sorted(chosen)


def check(environments: ThreadEnvironments, count: int) -> int:
    """Measures random programs again. Returns the number of those that differ from the table."""
    table = read_table(FOLDER)
    sealed = {*_listed(FOLDER, OpenSourceSealedDataset.LIST)}
    wrong = 0
    for program in random.sample([*table], count):
        kind = OpenSourceSealedDataset if program in sealed else OpenSourceDataset
        row = {"program": program, **measure(environments, f"{kind.NAME}/{program}")}
        row |= {"code_hash": _code_hash(row), "functions": len(row["functions"])}
        known = table[program]._asdict()
        differing = [
            f"{name}: {known[name]} in the table, {value} measured"
            for name, value in row.items()
            if name != "program" and known[name] != value
        ]
        wrong += bool(differing)
        print(f"{program}: {'; '.join(differing) or 'as in the table'}", flush=True)
    return wrong


def program_of(facts: ProgramFacts) -> str:
    """Returns the path in the URI of a program."""
    return facts.benchmark.removeprefix(f"{OpenSourceDataset.NAME}/")


def _package_of(row: Row) -> str:
    return row["program"].partition("/")[0]


def _code_hash(row: Row) -> str:
    if not row["functions"]:
        return ""
    return _hash_of(json.dumps([row["instructions"], sorted(row["functions"].items())]))


def _hash_of(text: str) -> str:
    return _digest(text).hex()[:16]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    main()
