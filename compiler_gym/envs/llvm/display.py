"""Readable text about an environment's program: a summary and a diff."""

import difflib
import re
from collections.abc import Container, Iterable, Iterator
from difflib import SequenceMatcher
from functools import partial

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.envs.workbench import BASELINES, COSTS, Objective, fork_at
from compiler_gym.util.shell_format import plural

# Numbers of values in one version of a program, by those in another.
#
# In textual IR values without names are numbered in their order, so a pass that takes away one
# instruction renumbers all that follow. Here they keep the numbers of the other version as far as
# the instructions are the same, so that a diff shows what has changed and not what has moved.

_VALUE = re.compile(r"(?<![\w.])%(\d+)|^(\d+)(?=:)")
_DEFINED_VALUE = re.compile(r"^  %(\d+) =|^(\d+):")
_NODE = re.compile(r"([!#]\d+)\b")
_DEFINED_NODE = re.compile(r"^(?:attributes )?([!#]\d+) =")
_FUNCTION = re.compile(r'^define .*?@("[^"]*"|[^(]*)\(')

# Comparing takes time by the product of the numbers of lines; 4 million are about a second.
_MAX_COMPARISONS = 4_000_000


def renumbered(before: str, after: str) -> str:
    """Returns a program with the numbers of another version of it.

    Args:
        before: The program as textual IR.
        after: The other version.

    Returns:
        ``before`` with other numbers of values, metadata and groups of attributes. Values that
        have no counterpart are called ``%old7``.
    """
    functions = dict(_parts(after.splitlines()))
    parts = [*_parts(before.splitlines())]
    pairs = [_aligned(part, functions.get(name, [])) if name else [] for name, part in parts]
    nodes = _numbers_of_nodes(before, after, pairs)
    lines: list[str] = []
    for (name, part), same in zip(parts, pairs, strict=True):
        values = _numbers(same, _VALUE, _DEFINED_VALUE)
        for line in part:
            if name:
                line = _VALUE.sub(partial(_renamed, values), line)
            lines.append(_NODE.sub(lambda match: nodes.get(match[1], match[1]), line))
    return "\n".join(lines)


def _parts(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the functions of a program by name, and the text between them by the name ""."""
    part: list[str] = []
    name = ""
    for line in lines:
        if found := _FUNCTION.match(line):
            yield "", part
            name, part = found[1], []
        part.append(line)
        if name and line == "}":
            yield name, part
            name, part = "", []
    yield name, part


def _numbers_of_nodes(
    before: str, after: str, used: Iterable[Iterable[tuple[str, str]]]
) -> dict[str, str]:
    """Returns the new numbers of metadata and of groups of attributes, where they are the same.

    Definitions of many nodes look alike, such as those of loops. So the lines that use them count
    first, and only then the order of the definitions.
    """
    numbers: dict[str, str] = {}
    for old, new in (pair for pairs in used for pair in pairs):
        for each in zip(_NODE.findall(old), _NODE.findall(new), strict=True):
            numbers.setdefault(*each)
    rest = _definitions(before, {*numbers}), _definitions(after, {*numbers.values()})
    return numbers | _numbers(_aligned(*rest), _NODE, _DEFINED_NODE)


def _definitions(program: str, known: Container[str]) -> list[str]:
    """Returns the lines that define nodes, without those that are known."""
    defined = ((line, _DEFINED_NODE.match(line)) for line in program.splitlines())
    return [line for line, match in defined if match and match[1] not in known]


def _aligned(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Returns the pairs of lines that are the same but for numbers, in order."""
    if not old or not new or len(old) * len(new) > _MAX_COMPARISONS:
        return []
    masked_old, masked_new = (
        [_NODE.sub("", _VALUE.sub("", line.partition("; preds =")[0])) for line in lines]
        for lines in (old, new)
    )
    matcher = SequenceMatcher(None, masked_old, masked_new, autojunk=False)
    return [
        (old[block.a + i], new[block.b + i])
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    ]


def _numbers(
    pairs: Iterable[tuple[str, str]], reference: re.Pattern[str], definition: re.Pattern[str]
) -> dict[str, str]:
    """Returns the new number of each old one that is defined by the same line in both versions."""
    numbers: dict[str, str] = {}
    for pair in pairs:
        if pair[0].startswith("define "):
            parameters = [[each[1] for each in reference.finditer(line)] for line in pair]
            numbers.update(zip(*parameters, strict=True))
            # The first block has the next number, and no label.
            numbers[str(len(parameters[0]))] = str(len(parameters[1]))
        elif (first := definition.match(pair[0])) and (second := definition.match(pair[1])):
            numbers[_number(first)] = _number(second)
    return numbers


def _number(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()))


def _renamed(numbers: dict[str, str], match: re.Match[str]) -> str:
    number = _number(match)
    name = numbers.get(number, f"old{number}")
    return f"%{name}" if match[1] else name


RENDER_MODES = ("human", "ansi", "summary", "diff")

_CONTEXT_LINES = 3
_LABELS: dict[Objective, str] = {"instructions": "instructions", "bytes": "bytes of code"}


def ir_before(env: CompilerEnv, steps: int = 1) -> str:
    """Returns the program from before the last actions, as textual IR.

    The earlier actions are repeated in a separate session; the environment does not change.

    Args:
        env: The environment. There has to be an episode.
        steps: The number of actions to leave out, at most as many as there were.

    Raises:
        Exception: If the service fails.
    """
    actions = env.actions[: max(0, len(env.actions) - steps)]
    with fork_at(env, actions) as earlier:
        return str(earlier.observation["Ir"])


def diff_of_ir(before: str, after: str) -> Iterator[str]:
    """Yields the lines of a unified diff of two programs; none if they are the same.

    The values of the first have the numbers of the second, see :func:`renumbered`.
    """
    before = renumbered(before, after)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=_CONTEXT_LINES
    )
    function = ""
    old = iter(before.splitlines())
    seen = 0
    for line in lines:
        if line.startswith("@@"):
            start = int(line.split()[1].lstrip("-").partition(",")[0])
            # As `diff -p` does, a hunk says which function it is of.
            while seen < start:
                text = next(old, "")
                seen += 1
                if text.startswith("define "):
                    function = text.partition("@")[2].partition("(")[0]
                elif text == "}":
                    function = ""
            yield f"{line} {function}".rstrip()
        else:
            yield line


def diff_of_step(env: CompilerEnv, actions: int) -> Iterator[str]:
    """Yields the lines of a diff of the program before and after the last step, or a remark.

    Args:
        env: The environment. There has to be an episode.
        actions: How many actions the step had; 0 if there was none yet.
    """
    lines = list(diff_of_ir(ir_before(env, actions), env.observation["Ir"])) if actions else []
    yield from lines or ["No difference" if actions else "No step yet"]


def summary_of(env: CompilerEnv) -> Iterator[str]:
    """Yields lines about an episode: program, costs beside those of -O0 and -Oz, last action.

    Raises:
        SessionNotFound: If there is no episode.
    """
    names = [
        name
        for each in _LABELS
        for name in (COSTS[each], f"{BASELINES[each]}O0", f"{BASELINES[each]}Oz")
    ]
    values = iter(env.observation.observe(names))
    yield f"{env.benchmark}"
    yield f"{'':15}{'now':>9}{'-O0':>9}{'-Oz':>9}{'of -Oz':>9}"
    for label in _LABELS.values():
        now, unoptimised, oz = next(values), next(values), next(values)
        share = f"{now / oz:.1%}" if oz else ""
        yield f"{label:15}{now:>9}{unoptimised:>9}{oz:>9}{share:>9}"
    actions = env.actions
    last = f", the last {env.action_space.names[actions[-1]]}" if actions else ""
    yield f"{plural(len(actions), 'action')}{last}"
    if env.reward_space is not None:
        yield f"{env.reward_space.name} {env.episode_reward:.4f}"
