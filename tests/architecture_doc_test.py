"""Every file and folder that docs/contributing/architecture.md names exists.

Looks at the whole source tree, which it finds through the link to itself.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "compiler_gym",
    "docs",
    "examples",
    "llvm_service",
    "mlir_service",
    "proto",
    "tests",
    "third_party",
    "tools",
)

_FILE = r"[\w./-]+\.(?:bzl|cc|def|h|md|proto|py|txt|yaml)\b"
_FOLDER = r"(?<=`)[\w./-]+/(?=`)"


def names_in(text: str) -> set[str]:
    """Returns the files that a text names, also in pictures, and the folders in backticks."""
    without_links = re.sub(r"\]\([^)]*\)", "]", text)  # The build of the site checks these.
    return set(re.findall(f"{_FILE}|{_FOLDER}", without_links))


def missing(names: set[str]) -> list[str]:
    """Returns the names that nothing has: paths from the root, or the ends of such paths."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder, *(ROOT / folder).rglob("*"))]
    known = "\n".join(f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in paths)
    return sorted(
        name for name in names if not re.search(rf"/{re.escape(name)}$", known, re.MULTILINE)
    )


def test_everything_named_exists():
    names = names_in((ROOT / "docs/contributing/architecture.md").read_text(encoding="utf-8"))
    assert "compiler_gym/service/runtime/session/" in names
    assert "llvm_service/observations/Observations.def" in names
    assert missing(names) == []


def test_missing_names_are_found():
    text = "`server/Gone.cc`, `gone/`, `docs/gone.md` beside `session/Session.cc` and `proto/`\n"
    picture = "     | RpcService.cc ----> GoneService.cc |\n"
    assert missing(names_in(text + picture)) == [
        "GoneService.cc",
        "docs/gone.md",
        "gone/",
        "server/Gone.cc",
    ]
