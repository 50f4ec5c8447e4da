"""The options of an installed GCC."""

import hashlib
import json
import logging
import math
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.envs.gcc.options import (
    ALIGNMENTS,
    LARGEST,
    Action,
    GccFlagAlignOption,
    GccFlagEnumOption,
    GccFlagIntOption,
    GccFlagOption,
    GccOOption,
    GccParamEnumOption,
    GccParamIntOption,
    Option,
    actions_of,
    option_from_json,
    words,
)
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.util.commands import CommandError
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import cache_path

# Parser of GCC's descriptions of its options.
#
# There are two texts of each list: with ``-Q`` GCC prints the present value of each option, and
# without it what the option is for. The forms have changed over the versions:
#
# - since 10, ``--param=max-unroll-times=          8``, and ``--param=x=<1,65536>  100`` for ranges;
# - up to 9, ``max-unroll-times   default 8 minimum 0 maximum 0``, where a maximum that is not above
#   the minimum means that there is none;
# - the words that an option takes are in brackets behind it, ``-fira-region=[one|all|mixed]``, or
#   in the description, or below the list after ``Known valid arguments for -fira-region= option:``.

# Names of options begin in the third column; longer indentation continues a description.
_LINE = re.compile(r"^  (\S+)(?:\s+(.*))?$")
_NAME = re.compile(
    r"(?P<name>-[fO][\w+-]*|--param=[\w-]+|[a-z][\w-]+)"
    r"(?P<value>=?(?:<number>|<(?P<low>-?\d+),(?P<high>-?\d+)>|\[(?P<words>[^\]]+)\])?)$"
)
_OLD_PARAMETER = re.compile(r"default (-?\d+) minimum (-?\d+) maximum (-?\d+)")
_OLD_WORDS = re.compile(r"default (\w+) options? ([\w,-]+)")
_IN_DESCRIPTION = re.compile(r"(--param=[\w-]+|-f[\w-]+)=\[([^\]]+)\]")
_KNOWN_ARGUMENTS = re.compile(r"Known valid arguments for (\S+?)=? option.*?:\s*\n\s+([^\n]+)")

# What a number behind -O means; -O alone is -O1.
_LEVELS = ("0", "1", "2", "3")

WordsOfOptions = Mapping[str, tuple[str, ...]]


def words_in(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the words that options take, by the name of the option, as far as a text says so."""
    found = {name: tuple(listed.split()) for name, listed in _KNOWN_ARGUMENTS.findall(text)}
    # Lines are broken after blanks and hyphens.
    unbroken = re.sub(r"-\n\s+", "-", text)
    for name, listed in _IN_DESCRIPTION.findall(re.sub(r"\n\s+", " ", unbroken)):
        found.setdefault(name, tuple(re.sub(r"\s", "", listed).split("|")))
    return found


def parse_optimizers(values: str, described: str) -> Iterator[Option]:
    """Yields the options of optimisation, ``-O`` first, then by their order in the list.

    Options that have no effect on C are left out.

    Args:
        values: The output of ``gcc -Q --help=optimizers``.
        described: The output of ``gcc --help=optimizers``.
    """
    known = words_in(described) | words_in(values)
    levels: list[str] = []
    options: list[Option] = []
    lines = list(_lines(values))
    names = {name for name, _ in lines}
    for name, rest in lines:
        if name.startswith("-fno-") and f"-f{name.removeprefix('-fno-')}" in names:
            continue  # GCC 14 lists both values of -finline-stringops.
        if name.startswith("-O"):
            level = name.removeprefix("-O")
            levels += _LEVELS if level == "<number>" else (level,)
        elif name.startswith("-f") and not rest.startswith("[available in"):
            options += _flag(name, rest, known)
    if levels:
        yield GccOOption("-O", tuple(levels))
    yield from options


def parse_params(values: str, described: str) -> Iterator[Option]:
    """Yields the parameters, by their order in the list.

    Args:
        values: The output of ``gcc -Q --help=params``.
        described: The output of ``gcc --help=params``.
    """
    known = words_in(described) | words_in(values)
    for name, rest in _lines(values):
        if not rest.startswith("[available in"):
            yield from _parameter(name, rest, known)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yields the name of each option, and the text after it."""
    for line in text.splitlines():
        if match := _LINE.match(line):
            yield match[1], (match[2] or "").strip()


def _flag(word: str, rest: str, known: WordsOfOptions) -> Iterator[Option]:
    match = _NAME.fullmatch(word)
    # An alias is another name of an option that is listed, too.
    if match is None or (rest.startswith("-f") and not word.startswith(rest.partition("=")[0])):
        return
    name = match["name"]
    if not match["value"]:
        yield GccFlagOption(name)
    elif listed := match["words"]:
        yield GccFlagEnumOption(name, words(listed.split("|")))
    elif name in known:
        yield GccFlagEnumOption(name, words(known[name]))
    elif name.startswith("-falign-"):
        yield GccFlagAlignOption(name, ALIGNMENTS)
    else:
        yield GccFlagIntOption(name, *_range(match), _number(rest))


def _parameter(word: str, rest: str, known: WordsOfOptions) -> Iterator[Option]:
    match = _NAME.fullmatch(word)
    if match is None:
        return
    name = f"--param={match['name'].removeprefix('--param=')}"
    if listed := match["words"]:
        yield GccParamEnumOption(name, words(listed.split("|")))
    elif name in known:
        yield GccParamEnumOption(name, words(known[name]))
    elif old := _OLD_PARAMETER.fullmatch(rest):
        default, low, high = map(int, old.groups())
        yield GccParamIntOption(name, low, high if high > low else LARGEST, default)
    elif old_words := _OLD_WORDS.fullmatch(rest):
        yield GccParamEnumOption(name, words(old_words[2].split(",")))
    elif match["value"] and (not rest or _number(rest) is not None):
        yield GccParamIntOption(name, *_range(match), _number(rest))


def _range(match: re.Match[str]) -> tuple[int, int]:
    return int(match["low"] or 0), int(match["high"] or LARGEST)


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() else None


logger = logging.getLogger(__name__)

# To be raised when the same output of a GCC is read in another way.
_FORMAT = 2

_QUESTION_SECONDS = 60
_PROGRAM = "int main(void) { return 0; }\n"
_REFUSED = re.compile(r"unrecognized command.line option '([^']+)'")

# Where GCC states no range, the first of these that it takes is the largest number.
_BOUNDS = (2**31 - 1, 2**16 - 1, 255, 16)


@dataclass(frozen=True)
class GccSpec:
    """The options of a GCC.

    Attributes:
        gcc: The name or path of the compiler, as of :class:`Gcc`.
        version: Its version, the first line of ``gcc --version``.
        options: The options, in the order in which they are on command lines.
    """

    gcc: str
    version: str
    options: tuple[Option, ...]

    @property
    def size(self) -> int:
        """The number of combinations of option values."""
        return math.prod(len(option) + 1 for option in self.options)

    @cached_property
    def actions(self) -> list[Action]:
        """The actions that change one option."""
        return list(actions_of(self.options))

    def check_choices(self, choices: Sequence[int]) -> None:
        """Raises ValueError unless there is one value for each option, from -1 on."""
        if len(choices) != len(self.options):
            raise ValueError(
                f"{self.version} has {len(self.options)} options, so there must be as many "
                f"choices, not {len(choices)}"
            )
        for number, (option, value) in enumerate(zip(self.options, choices, strict=True)):
            if not -1 <= value < len(option):
                raise ValueError(
                    f"Choice {number}, {option}, must be from -1 to {len(option) - 1}, not {value}"
                )

    def words_of(self, choices: Sequence[int]) -> list[str]:
        """Returns the part of a command line that stands for some choices.

        Raises:
            ValueError: See :meth:`check_choices`.
        """
        self.check_choices(choices)
        chosen = zip(self.options, choices, strict=True)
        return [option[value] for option, value in chosen if value >= 0]

    def choices_of(self, options: str | Iterable[str]) -> list[int]:
        """Returns the choices that some options stand for: undoes :meth:`words_of`.

        Args:
            options: ``["-Os", "-fno-gcse"]``, or one text with blanks between. Of two values of an
                option the later counts.

        Raises:
            ValueError: If one is not among the options. The text names similar ones.
        """
        choices = [-1] * len(self.options)
        for word in options.split() if isinstance(options, str) else options:
            number, value = self._find(word)
            choices[number] = value
        return choices

    def _find(self, word: str) -> tuple[int, int]:
        for name in _names_in(word):
            for number in self._numbers.get(name, ()):
                value = self.options[number].find(word)
                if value is not None:
                    return number, value
        similar = did_you_mean(word, (option.name for option in self.options))
        raise ValueError(f"{word!r} is not an option of {self.version}.{similar}")

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of options by name; some exist with a value and without."""
        numbers: dict[str, list[int]] = {}
        for number, option in enumerate(self.options):
            numbers.setdefault(option.name, []).append(number)
        return numbers

    def to_json(self) -> dict[str, Any]:
        """Returns the JSON for :meth:`from_json`."""
        options = [option.to_json() for option in self.options]
        return {"gcc": self.gcc, "version": self.version, "options": options}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "GccSpec":
        """Reads the JSON of :meth:`to_json`. Raises LookupError or TypeError."""
        options = tuple(option_from_json(option) for option in fields["options"])
        return cls(gcc=fields["gcc"], version=fields["version"], options=options)


def _names_in(word: str) -> list[str]:
    """Returns the possible names of the option of a word."""
    name = word.rpartition("=")[0] or word
    if word.startswith("-O"):
        return ["-O"]
    if word.startswith("-fno-"):
        return [f"-f{word.removeprefix('-fno-')}", name]
    return [name]


def get_spec(gcc: Gcc, cache_dir: Path | None = None) -> GccSpec:
    """Returns the options of a GCC. What it says about them is kept in a file.

    Args:
        gcc: The compiler.
        cache_dir: Where that file is, by default the folder ``gcc-v0`` of ``cache_path()``.

    Raises:
        EnvironmentNotSupported: If the compiler does not list its options.
    """
    key = hashlib.sha256(f"{_FORMAT}\n{gcc.identity}".encode()).hexdigest()[:32]
    folder = cache_path("gcc-v0") if cache_dir is None else cache_dir
    path = folder / f"options-{key}.json"
    with suppress(OSError, ValueError, LookupError, TypeError):
        kept = GccSpec.from_json(json.loads(path.read_text(encoding="utf-8")))
        return replace(kept, gcc=gcc.bin)
    spec = read_spec(gcc)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            json.dump(spec.to_json(), file)
    except OSError as error:
        logger.warning("Cannot keep the options of %s: %s", gcc.bin, error)
    return spec


def read_spec(gcc: Gcc) -> GccSpec:
    """Asks a GCC for its options, and tries those that it lists. Takes about a second.

    Raises:
        EnvironmentNotSupported: If it does not list any.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-gcc-") as name:
        folder = Path(name)
        (folder / "empty.c").write_text(_PROGRAM)
        try:
            texts = [
                gcc.run(arguments, folder, _QUESTION_SECONDS)
                for what in ("optimizers", "params")
                for arguments in (["-Q", f"--help={what}"], [f"--help={what}"])
            ]
            options = [*parse_optimizers(*texts[:2]), *parse_params(*texts[2:])]
            options = _tried(gcc, folder, options)
        except (CommandError, subprocess.TimeoutExpired) as error:
            raise EnvironmentNotSupported(
                f"{gcc.bin} does not list its options: {error}"
            ) from error
    if not options:
        raise EnvironmentNotSupported(
            f"{gcc.bin} ({gcc.version}) lists no options with -Q --help=optimizers. GCC 9 and "
            "later do"
        )
    return GccSpec(gcc=gcc.bin, version=gcc.version, options=tuple(options))


def _tried(gcc: Gcc, folder: Path, options: Sequence[Option]) -> list[Option]:
    """Returns the options with those values that the compiler takes."""
    flags = [option for option in options if isinstance(option, GccFlagOption)]
    refused = _refused(gcc, folder, [text for flag in flags for text in (flag[0], flag[1])])
    tried: list[Option] = []
    for option in options:
        if isinstance(option, GccFlagOption):
            if option[0] not in refused:
                tried.append(replace(option, no_fno=option[1] in refused))
        elif isinstance(option, GccFlagIntOption) and option.max == _BOUNDS[0]:
            tried += _bounded(gcc, folder, option)
        else:
            tried.append(option)
    return tried


def _bounded(gcc: Gcc, folder: Path, option: GccFlagIntOption) -> list[Option]:
    """Returns the option with its largest number, or with its numbers if these are few."""
    for bound in _BOUNDS:
        if not _takes(gcc, folder, f"{option.name}={bound}"):
            continue
        if bound > _BOUNDS[-1]:
            return [replace(option, max=bound)]
        numbers = range(option.min, bound + 1)
        taken = [str(n) for n in numbers if _takes(gcc, folder, f"{option.name}={n}")]
        return [GccFlagEnumOption(option.name, words(taken))]
    return []


def _takes(gcc: Gcc, folder: Path, option: str) -> bool:
    try:
        gcc.run([option, "-S", "empty.c", "-o", "empty.s"], folder, _QUESTION_SECONDS)
    except CommandError:
        return False
    return True


def _refused(gcc: Gcc, folder: Path, options: Sequence[str]) -> set[str]:
    """Returns those of the options that do not exist."""
    try:
        gcc.run([*options, "-S", "empty.c", "-o", "empty.s"], folder, _QUESTION_SECONDS)
    except CommandError as error:
        return set(_REFUSED.findall(error.stderr))
    return set()
