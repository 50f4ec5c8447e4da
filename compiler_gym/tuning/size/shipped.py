"""The files of the package that decide what searches try."""

import hashlib
from functools import cache
from pathlib import Path

PORTFOLIO, RANKING = (Path(__file__).parent / f"{name}.json" for name in ("portfolio", "ranking"))
"""The changes that are tried first, and the model that orders them."""


@cache
def shipped_digest() -> str:
    """Returns a digest of what searches try, which results that were kept depend on."""
    return hashlib.sha256(PORTFOLIO.read_bytes() + RANKING.read_bytes()).hexdigest()
