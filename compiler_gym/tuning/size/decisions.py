"""Changes of compilations as JSON that people can read."""

from collections.abc import Mapping
from typing import Any

from compiler_gym.tuning.size.compilation import Change


def change_as_json(change: Change) -> dict[str, list[str]]:
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
