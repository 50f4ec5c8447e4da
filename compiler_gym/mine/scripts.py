"""The parts that the scripts of all objectives share."""

import shlex
from collections.abc import Mapping

from compiler_gym.mine.decisions import Tools, baseline_command
from compiler_gym.mine.objective import Trial

SCRIPT = "check.sh"
MODULE = "reduced.ll"

# IR that means nothing: a reducer would soon leave nothing else.
NONSENSE = (
    r"(^|[^%@.A-Za-z0-9_])(undef|poison|unreachable)($|[^A-Za-z0-9_])"
    r"|(load|store) .*, ptr null|getelementptr .*ptr null|br i1 (true|false)"
    r"|(div|rem) (exact )?i[0-9]+ .*, 0$"
    r"|(nonnull|dereferenceable\([0-9]+\)) null|call .* null\("
)

_HEAD = """\
#!/bin/bash
# {title}
#
# usage: {name} [FILE]    with textual IR or bitcode, by default {input} beside this script
#"""

_START = """\
input=$(realpath "${1:-$(dirname "$0")/{input}}") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1"""

_GUARD = """\
case $input in
  *.ll) ! grep -Eq {pattern} "$input" || exit 1 ;;
esac
"""


def fill_script(
    text: str,
    trial: Trial,
    is_guarded: bool,
    flags: str,
    outputs: tuple[str, str],
    more: Mapping[str, str],
) -> str:
    """Returns a script: a text with names in braces, each replaced by its value.

    Args:
        text: The text. The names are ``head``, ``start``, ``guard``, ``baseline`` and
            ``decision``, which are lines of commands, and ``title``, ``name``, ``input``,
            ``least``, ``level``, ``clang`` and ``opt``.
        trial: The function and the decision.
        is_guarded: Whether modules with undefined behaviour that shows are refused.
        flags: The options of clang that say what the outputs are.
        outputs: The files that the baseline and the decision write.
        more: Further names and values.
    """
    named = Tools('"$clang"', '"$opt"', trial.tools.level)
    guard = _GUARD.replace("{pattern}", shlex.quote(NONSENSE)) if is_guarded else ""
    values = {
        "head": _HEAD,
        "start": _START,
        "title": trial.decision.title,
        "name": SCRIPT,
        "input": MODULE,
        "least": str(trial.least),
        "level": trial.tools.level,
        "clang": trial.tools.clang,
        "opt": trial.tools.opt,
        "guard": guard,
        "baseline": baseline_command('"$input"', outputs[0], named, flags),
        "decision": trial.decision.command('"$input"', outputs[1], named, flags),
        **more,
    }
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
