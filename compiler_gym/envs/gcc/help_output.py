"""Parser of GCC's descriptions of its options.

There are two texts of each list: with ``-Q`` GCC prints the present value of each option, and
without it what the option is for. The forms have changed over the versions:

- since 10, ``--param=max-unroll-times=          8``, and ``--param=x=<1,65536>  100`` with a range;
- up to 9, ``max-unroll-times   default 8 minimum 0 maximum 0``, where a maximum that is not above
  the minimum means that there is none;
- the words that an option takes are in brackets behind it, ``-fira-region=[one|all|mixed]``, or in
  the description, or below the list after ``Known valid arguments for -fira-region= option:``.
"""

import re
from collections.abc import Iterator, Mapping

from compiler_gym.envs.gcc.options import (
    ALIGNMENTS,
    LARGEST,
    GccFlagAlignOption,
    GccFlagEnumOption,
    GccFlagIntOption,
    GccFlagOption,
    GccOOption,
    GccParamEnumOption,
    GccParamIntOption,
    Option,
    words,
)

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
    for name, rest in _lines(values):
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
