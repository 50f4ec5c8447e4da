"""Counts of trials, for the tables of ``docs/guides/code-size-safety.md``.

The counts are those of ``codegen/trial_counts.json``, which ``codegen_trials --publish`` writes.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.tuning.size.trial_totals import Totals

COUNTS = Path(__file__).parent / "codegen" / "trial_counts.json"

_SECTION = "## Options and their trials"
_MACHINES = ("x86_64", "aarch64")
_ALL_OF = {"set-functions": "without ", "set-call-sites": "call "}
_SUMMARY = re.compile(r"^So far: .*$", re.M)


def with_counts(text: str, totals: Totals) -> str:
    """Returns the document with counts in the last two columns of the tables of options."""
    uses = {**totals.uses, **totals.builds, **totals.options}
    before, section, rest = text.partition(_SECTION)
    audit, heading, after = rest.partition("\n## ")
    audit = "\n".join(_with_count(line, uses) for line in audit.split("\n"))
    audit = _SUMMARY.sub(lambda _: f"So far: {totals}", audit, count=1)
    return "".join([before, section, audit, heading, after])


def _with_count(line: str, uses: Mapping[str, int]) -> str:
    """Returns a row with its counts; any other line as it is."""
    cells = line.split(" | ")
    names = re.findall(r"`([^`]+)`", cells[0])
    if not line.startswith("| ") or not names:
        return line
    counts = (sum(_counts(names, uses, machine)) for machine in _MACHINES)
    return " | ".join([*cells[:-2], *map(str, counts)]) + " |"


def _counts(names: Iterable[str], uses: Mapping[str, int], machine: str) -> Iterable[int]:
    for name in names:
        name = name.partition("F:")[0].removesuffix("=") if "=F:" in name else name
        for key, count in uses.items():
            if key.startswith(f"{machine} ") and _is(name, key.partition(" ")[2]):
                yield count


def _is(name: str, key: str) -> bool:
    if name in _ALL_OF:
        return key.startswith(_ALL_OF[name])
    return key.startswith(name[:-1]) if name.endswith("=N") else key == name
