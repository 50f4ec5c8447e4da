"""Measured facts about the programs of ``opensource-v0``, which come with the package."""

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_type_hints

_FILE = "programs.csv.gz"


class ProgramFacts(NamedTuple):
    """Facts about a program, measured with LLVM 22 on Debian 12 for x86-64.

    Attributes:
        benchmark: The URI.
        part: One of ``compiler_gym.datasets.PARTS``.
        package: The package in the Python package index.
        instructions: The instructions before any pass (``IrInstructionCountO0``).
        instructions_oz: The instructions after ``-Oz`` (``IrInstructionCountOz``).
        code_bytes_oz: The bytes of code and constants after ``-Oz`` (``ObjectTextSizeOz``).
        bitcode_bytes: The size as the compiler gets the program, which ``min_size`` and
            ``max_size`` of :class:`compiler_gym.datasets.Subset` compare with.
        functions: The number of functions, without inline functions of headers.
        shared_functions: The number of those that another package has, too: with the same name
            and the same textual IR.
        code_hash: A hash of these functions, and of the number of instructions. Empty without
            functions.
        ir_sha1: The hash of the program before any pass (``IrSha1``).
    """

    benchmark: str
    part: str
    package: str
    instructions: int
    instructions_oz: int
    code_bytes_oz: int
    bitcode_bytes: int
    functions: int
    shared_functions: int
    code_hash: str
    ir_sha1: str

    @property
    def identity(self) -> str:
        """A hash that only equal programs share.

        Constants outside of functions do not count, because paths in assertions are among them.
        """
        return self.code_hash or self.ir_sha1


@cache
def read_table(folder: Path) -> Mapping[str, ProgramFacts]:
    """Returns the facts by the path in the URI; empty if the folder has no table.

    Args:
        folder: A folder of lists, as ``FOLDER`` of ``opensource_dataset``.
    """
    path = folder / _FILE
    if not path.is_file():
        return {}
    types = get_type_hints(ProgramFacts)
    rows = csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
    table = (
        ProgramFacts(**{name: types[name](text) for name, text in row.items()}) for row in rows
    )
    return {facts.benchmark.split("/", 3)[3]: facts for facts in table}


def write_table(folder: Path, table: Iterable[ProgramFacts]) -> None:
    """Writes the facts into a folder of lists."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(ProgramFacts._fields)
    writer.writerows(table)
    (folder / _FILE).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
