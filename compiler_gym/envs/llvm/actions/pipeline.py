"""The syntax of pass pipelines, as ``opt -passes=`` understands it.

A pipeline is a list of elements separated by commas. An element is a name, options in angle
brackets, and for adaptors a nested pipeline in parentheses: ``function(loop-mssa(licm))``,
``cgscc(inline)``, ``function(simplifycfg<switch-to-lookup>)``.
"""

from collections.abc import Iterator

_CLOSING = {"(": ")", "<": ">"}


FORGET_ANALYSES = "invalidate<all>"
"""What makes ``opt`` forget all that passes have computed to ask it."""


def split_pipeline(text: str) -> list[str]:
    """Splits a pipeline at the commas outside of all brackets.

    Args:
        text: A pipeline, e.g. ``"function(sroa),cgscc(inline)"``.

    Returns:
        Its elements, e.g. ``["function(sroa)", "cgscc(inline)"]``; none for a blank text.

    Raises:
        ValueError: If brackets do not match, or an element is empty.
    """
    if not text.strip():
        return []
    elements = []
    expected: list[str] = []  # The brackets to be closed, innermost last.
    start = 0
    for position, character in enumerate(text):
        if character in _CLOSING:
            expected.append(_CLOSING[character])
        elif character in _CLOSING.values():
            if not expected or expected.pop() != character:
                raise ValueError(
                    f"Unexpected '{character}' at position {position} of the pass pipeline '{text}'"
                )
        elif character == "," and not expected:
            elements.append(text[start:position].strip())
            start = position + 1
    if expected:
        raise ValueError(f"Missing '{expected[-1]}' at the end of the pass pipeline '{text}'")
    elements.append(text[start:].strip())
    if not all(elements):
        raise ValueError(f"Empty element in the pass pipeline '{text}': check its commas")
    return elements


def unnest(element: str) -> str | None:
    """Returns the pipeline inside an adaptor, or None if the element is not an adaptor.

    ``function(sroa)`` gives ``sroa``; ``function<eager-inv>(sroa,dce)`` gives ``sroa,dce``;
    ``gvn<no-pre>`` gives None.
    """
    if not element.endswith(")"):
        return None
    opening = element.find("(")
    return element[opening + 1 : -1].strip() if opening > 0 else None


def unnested_forms(element: str) -> Iterator[str]:
    """Yields an element without its outermost adaptor, then without the next one, and so on.

    ``function(loop-mssa(licm))`` gives ``loop-mssa(licm)``, then ``licm``. Stops at an adaptor
    that holds more than one element.
    """
    inner = unnest(element)
    while inner is not None and len(split_pipeline(inner)) == 1:
        yield inner
        inner = unnest(inner)
