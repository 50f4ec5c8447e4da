"""Names of the policies that come with the package. Commands complete them without NumPy."""

from pathlib import Path

SHIPPED = {
    name: Path(__file__).parent / f"{name}.json"
    for name in ("pieces", "pieces45", "sequence", "coreset", "network")
}
"""The file of each policy that comes with the package, by its name."""

SEARCH_PIECES = Path(__file__).parent / "search_pieces.json"
"""Pieces that searches try: those of ``pieces``, and others whose passes have parameters."""
