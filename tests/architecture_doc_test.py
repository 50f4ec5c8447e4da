"""Documents name what exists: two pages files and folders, links of all pages their targets.

Looks at the whole source tree, which it finds through the link to itself.
"""

import re
from collections.abc import Iterator
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
    without_links = re.sub(r"\]\([^)]*\)", "]", text)
    return set(re.findall(f"{_FILE}|{_FOLDER}", without_links))


def missing(names: set[str]) -> list[str]:
    """Returns the names that nothing has: paths from the root, or the ends of such paths."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder, *(ROOT / folder).rglob("*"))]
    known = "\n".join(f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in paths)
    return sorted(
        name for name in names if not re.search(rf"/{re.escape(name)}$", known, re.MULTILINE)
    )


def test_everything_named_exists():
    pages = ROOT / "docs/contributing"
    architecture = (pages / "architecture.md").read_text(encoding="utf-8")
    sessions = (pages / "sessions.md").read_text(encoding="utf-8")
    names = names_in(architecture + sessions.partition("## Protocols")[2])
    assert "compiler_gym/service/runtime/worker/" in names
    assert "PristinePool.cc" in names
    assert "llvm_service/observations/Observations.def" in names
    assert missing(names) == []


def test_missing_names_are_found():
    text = "`server/Gone.cc`, `gone/`, `docs/gone.md` beside `worker/WorkerLoop.cc` and `proto/`\n"
    picture = "     | RpcService.cc ----> GoneService.cc |\n"
    assert missing(names_in(text + picture)) == [
        "GoneService.cc",
        "docs/gone.md",
        "gone/",
        "server/Gone.cc",
    ]


def pages() -> Iterator[Path]:
    """Yields the Markdown files of the repository."""
    yield from ROOT.glob("*.md")
    for folder in (*FOLDERS, "benchmarks", "web", ".github"):
        found = (ROOT / folder).rglob("*.md")
        yield from (page for page in found if "node_modules" not in page.parts)


def without_code(text: str) -> str:
    blocks = r"^ *(`{3,}|~{3,})[^`\n]*\n.*?^ *\1`*$"
    return re.sub(r"`[^`\n]*`", "`", re.sub(blocks, "", text, flags=re.M | re.S))


def places_in(text: str) -> set[str]:
    """Returns the names by which links find the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    """Returns the relative links of a page that lead to no file, or to no heading in it."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        name, _, place = link.partition("#")
        target = page.parent / name if name else page
        if re.match(r"\w+:", link):
            continue
        if not target.exists() or (place and place not in places_in(target.read_text("utf-8"))):
            found.append(link)
    return found


def test_links_work_in_a_clone():
    checked = {page: page.read_text(encoding="utf-8") for page in pages()}
    assert {ROOT / "README.md", ROOT / "docs/index.md"} < set(checked)
    assert sum(text.count("](") for text in checked.values()) > 200
    found = {page: broken_links(page, text) for page, text in checked.items()}
    assert {str(page): links for page, links in found.items() if links} == {}


def test_broken_links_are_found():
    links = ["README.md", "docs", "gone.md", "README.md#ten-lines", "README.md#gone", "#gone"]
    text = " ".join(f"[name]({link})" for link in [*links, "https://a.b/c"])
    assert broken_links(ROOT / "SECURITY.md", text) == ["gone.md", "README.md#gone", "#gone"]
