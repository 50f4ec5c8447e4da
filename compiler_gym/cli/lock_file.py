"""Lock files of ``compiler-gym-cc``: the decisions for each unit of a build."""

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from inspect import formatannotation
from pathlib import Path
from typing import Any, get_args, get_origin

import compiler_gym
from compiler_gym.cli.kept_objects import Found, digest_of
from compiler_gym.tuning.size.compilation import change_from_json
from compiler_gym.tuning.size.safety import MAX_STACK_GROWTH, Kind, Limits
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.filesystem import atomic_file_write, file_lock

_FORMAT = 1

Key = tuple[str, str]
"""The source and the options of a unit."""

# Options for header paths and warnings. All others affect the unoptimised code.
_WITHOUT_CODE = ("-I", "-W", "-w", "-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot")
_WITH_VALUE = ("-I", "-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot")

# Lines of LLVM IR with file names of this machine.
_NAMES = (b"; ModuleID", b"source_filename")


@dataclass(frozen=True)
class Unit:
    """A source with its options, on this machine.

    Attributes:
        source: The path of the source, relative to the folder of the lock file.
        options: The options that affect the code, quoted for a shell.
        content: A digest of the unoptimised code.
        compiler: The version of clang.
        version: The version of the package.
    """

    source: str
    options: str
    content: str
    compiler: str
    version: str

    @property
    def key(self) -> Key:
        """The key of the unit in a build: its source and options."""
        return self.source, self.options


@dataclass(frozen=True)
class Entry(Unit):
    """The decisions for a unit.

    Attributes:
        objective: The objective; `before` and `after` are in its unit.
        before: The size with clang alone.
        after: The size with the decisions.
        evaluations: The number of evaluations of the search.
        from_bitcode: True if clang makes the object file from bitcode of the source.
        decisions: The change, as JSON.
        left_out: Wrong decisions that a check has found.
        object: A digest of the object file.
        excluded: Functions and sources that the search left as they are.
        without: Kinds of decisions that it did not make.
        max_stack_growth: The bytes by which each frame was allowed to grow.
    """

    objective: str
    before: int
    after: int
    evaluations: int
    from_bitcode: bool
    decisions: dict[str, list[str]]
    left_out: list[str]
    object: str
    excluded: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    max_stack_growth: int = MAX_STACK_GROWTH

    @property
    def limits(self) -> Limits:
        """The exclusions of the search."""
        return Limits(tuple(self.excluded), (*map(Kind, self.without),), self.max_stack_growth)

    def difference(self, unit: Unit) -> str:
        """Returns the reason that the entry does not match a unit; empty if it does."""
        if self.compiler != unit.compiler:
            return f"got one of {self.compiler}, and this is {unit.compiler}"
        if self.version != unit.version:
            return f"got one of compiler-gym {self.version}, and this is {unit.version}"
        return "" if self.content == unit.content else "got one for another content of the source"


class LockFile:
    """A lock file. It need not exist.

    Args:
        path: Its absolute path.
    """

    def __init__(self, path: Path):
        self.path = path

    @property
    def folder(self) -> Path:
        """The folder that sources are relative to."""
        return self.path.parent

    def read(self) -> dict[Key, Entry]:
        """Returns the entries; none if there is no file.

        Raises:
            ValueError: If it is not a lock file.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        try:
            facts = json.loads(data.decode())
            if facts["format"] != _FORMAT:
                raise ValueError(f"expected format {_FORMAT}, got {facts['format']!r}")
            entries = [_checked_entry(*each) for each in enumerate(facts["units"], start=1)]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{self.path} is not a lock file of compiler-gym ({error}); make a new one, or "
                "resolve the conflicts of a merge in it"
            ) from error
        return {each.key: each for each in entries}

    def write(self, entries: Iterable[Entry]) -> None:
        """Replaces all entries atomically."""
        units: list[dict[str, Any]] = [
            asdict(each) for each in sorted(entries, key=lambda each: each.key)
        ]
        text = json.dumps({"format": _FORMAT, "units": units}, indent=1, ensure_ascii=False)
        # In JSON, this is how to write bytes of names that are not UTF-8.
        data = f"{text}\n".encode(errors="backslashreplace")
        with atomic_file_write(self.path, fileobj=True) as file:
            file.write(data)

    def update(self, entry: Entry) -> None:
        """Adds an entry, or replaces that of its key. Safe with several processes."""
        with file_lock(self.folder):
            self.write((self.read() | {entry.key: entry}).values())


def _checked_entry(number: int, facts: Any) -> Entry:
    """Returns the entry of the JSON of a unit.

    Raises:
        ValueError: If it is none.
    """
    try:
        entry = Entry(**facts)
        for each in fields(Entry):
            if not _is_of(each.type, value := getattr(entry, each.name)):
                expected = formatannotation(each.type)
                raise TypeError(f"expected {each.name} of the type {expected}, got {value!r}")
        _ = entry.limits
        change_from_json(entry.decisions)
    except (TypeError, ValueError) as error:
        raise ValueError(f"unit {number}: {error}") from error
    return entry


def _is_of(kind: Any, value: Any) -> bool:
    """Returns whether a value of JSON is of the type of a field."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if type(value) is not origin:
        return False
    parts = value.values() if origin is dict else value if origin is list else ()
    return all(_is_of(arguments[-1], part) for part in parts)


def unit_of(folder: Path, clang: Path, source: str, options: Sequence[str], bitcode: Path) -> Unit:
    """Returns a unit.

    Args:
        folder: The folder of the lock file. Its path does not affect the result.
        clang: The compiler.
        source: The path of the source.
        options: The options of clang.
        bitcode: The unoptimised code.
    """
    compiler = llvm_tools.tool_version(clang).partition("\n")[0]
    listed = run_command([llvm_tools.llvm_dis_path(), bitcode, "-o", "-"], text=False).stdout
    lines = (line for line in listed.splitlines() if not line.startswith(_NAMES))
    content = b"\n".join(lines).replace(compiler.encode(), b"").replace(os.fsencode(folder), b".")
    source, words = key_of(folder, source, options)
    return Unit(
        source=source,
        options=words,
        content=hashlib.sha256(content).hexdigest()[:32],
        compiler=compiler,
        version=compiler_gym.__version__,
    )


def key_of(folder: Path, source: str, options: Sequence[str]) -> Key:
    """Returns the key of a unit. Takes the arguments of :func:`unit_of`."""
    words = shlex.join(_relative(_that_matter(options), folder))
    return os.path.relpath(source, folder), words


def entry_of(unit: Unit, found: Found, made: Path, limits: Limits) -> Entry:
    """Returns the entry for the result of a search.

    Args:
        unit: The unit.
        found: The result.
        made: The object file.
        limits: The exclusions.
    """
    return Entry(
        **asdict(unit),
        objective=found.objective,
        before=found.before,
        after=found.after,
        evaluations=found.tried,
        from_bitcode=found.from_bitcode,
        decisions=found.decisions,
        left_out=[],
        object=digest_of(made),
        excluded=[*limits.excluded],
        without=[each.value for each in limits.without],
        max_stack_growth=limits.max_stack_growth,
    )


def _that_matter(options: Sequence[str]) -> list[str]:
    """Returns the options whose effect is not in the unoptimised code."""
    kept, words = [], iter(options)
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith(_WITHOUT_CODE):
            kept.append(word)
    return kept


def _relative(words: Sequence[str], folder: Path) -> list[str]:
    return [word.replace(str(folder), ".") for word in words]
