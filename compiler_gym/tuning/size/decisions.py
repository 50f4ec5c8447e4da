"""Changes of compilations as JSON that people can read."""

from collections.abc import Mapping, Sequence
from typing import Any

from compiler_gym.tuning.size.compilation import Change

Decisions = dict[str, list[str]]
"""A change, as JSON: texts by the kind of the decision."""

Atom = tuple[str, str]
"""A single decision: its kind and its text."""


def change_as_json(change: Change) -> Decisions:
    """Returns the decisions of a change, without the kinds of which there are none."""
    lists = {
        "options": [*change.options],
        "passes": [*change.passes],
        "calls": [f"{index}={'' if inline else 'no'}inline" for index, inline in change.calls],
        "skipped": [f"{index}={'+'.join(names)}" for index, names in change.skipped],
        "sequence": [*change.sequence],
    }
    return {name: texts for name, texts in lists.items() if texts}


def change_from_json(facts: Mapping[str, Any]) -> Change:
    """Returns the change of its decisions.

    Raises:
        ValueError: If they are not decisions.
    """
    unknown = {*facts} - {"options", "passes", "calls", "skipped", "sequence"}
    if unknown:
        raise ValueError(f"expected decisions, got {', '.join(sorted(unknown))}")
    calls = (text.split("=") for text in facts.get("calls", ()))
    skipped = (text.split("=") for text in facts.get("skipped", ()))
    return Change(
        options=tuple(facts.get("options", ())),
        passes=tuple(facts.get("passes", ())),
        calls=tuple((int(index), decision == "inline") for index, decision in calls),
        skipped=tuple((int(index), tuple(names.split("+"))) for index, names in skipped),
        sequence=tuple(facts.get("sequence", ())),
    )


def single_decisions(decisions: Mapping[str, Sequence[str]]) -> list[Atom]:
    """Returns the decisions one by one."""
    atoms = []
    for kind, texts in decisions.items():
        for text in texts:
            index, _, names = text.partition("=")
            if kind == "skipped":
                atoms += [(kind, f"{index}={name}") for name in names.split("+")]
            else:
                atoms.append((kind, text))
    return atoms


def joined_decisions(atoms: Sequence[Atom]) -> Decisions:
    """Returns the decisions that consist of single ones."""
    decisions: Decisions = {}
    skipped: dict[str, list[str]] = {}
    for kind, text in atoms:
        if kind == "skipped":
            index, _, name = text.partition("=")
            skipped.setdefault(index, []).append(name)
        else:
            decisions.setdefault(kind, []).append(text)
    if skipped:
        decisions["skipped"] = [f"{index}={'+'.join(names)}" for index, names in skipped.items()]
    return decisions


def decision_names(decisions: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the single decisions as lock files and reports name them, with their kinds."""
    return {f"{kind}: {text}" for kind, text in single_decisions(decisions)}
