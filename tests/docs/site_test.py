"""The site is complete: its links lead somewhere, and it needs nothing from the network."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import compiler_gym
from compiler_gym.util.runfiles_path import runfiles_path
from docs.sphinx import reference_pages

SITE = runfiles_path("docs/site")
PAGES = sorted(SITE.rglob("*.html"))
SECTIONS = ("start", "guides", "environments", "notebooks", "reference", "contributing")


class Page(HTMLParser):
    """The ids and the addresses in a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("link", "script", "img", "source", "iframe"):
            address = values.get("href") or values.get("src")
            if address:
                self.resources.append(address)


class Entries(HTMLParser):
    """The entries of a page of the API reference that have no text.

    Attributes:
        count: The number of entries.
        without_text: The signatures of those without text.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.count = 0
        self.without_text: list[str] = []
        self._signature: str | None = None
        self._entries: list[tuple[str | None, list[str]]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        if tag == "dt":
            self._signature = "" if "sig" in (dict(attrs).get("class") or "").split() else None
        elif tag == "dd":
            self._entries.append((self._signature, []))
            self._signature = None

    def handle_data(self, data):
        if self._signature is not None:
            self._signature += data
        for _, texts in self._entries:
            texts.append(data)

    def handle_endtag(self, tag):
        if tag == "dd":
            signature, texts = self._entries.pop()
            if signature is not None:
                self.count += 1
                if not "".join(texts).strip():
                    self.without_text.append(signature.strip())


@cache
def page(path: Path) -> Page:
    return Page(path)


def broken(path: Path, addresses: list[str]) -> list[str]:
    """Returns the addresses in a page that lead to no file, or to no place in it."""
    found = []
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = path.parent / unquote(parts.path) if parts.path else path
        place = unquote(parts.fragment)
        if not target.is_file() or not has_place(target, place):
            found.append(address)
    return found


def has_place(target: Path, place: str) -> bool:
    return not place or target.suffix != ".html" or place in page(target.resolve()).ids


def test_all_parts_are_there():
    names = {path.relative_to(SITE).parts[0] for path in PAGES}
    assert {*SECTIONS, "index.html", "search.html"} <= names
    assert len(PAGES) > 60
    assert {"compiler_gym", "compiler_gym.envs.llvm", "compiler_gym.spaces"} < set(MODULES)
    assert len(MODULES) > 15
    assert "searchindex.js" in {path.name for path in SITE.iterdir()}


def test_links_lead_somewhere():
    assert {
        str(path.relative_to(SITE)): found
        for path in PAGES
        if (found := broken(path, page(path.resolve()).links))
    } == {}


def test_a_broken_link_is_found():
    assert broken(PAGES[0], ["no-such-page.html"]) == ["no-such-page.html"]
    assert broken(SITE / "index.html", ["#no-such-place"]) == ["#no-such-place"]


def test_nothing_is_fetched():
    resources = {address for path in PAGES for address in page(path.resolve()).resources}
    assert resources
    assert [each for each in resources if urlsplit(each).scheme not in ("", "data")] == []
    for path in PAGES:
        assert broken(path, page(path.resolve()).resources) == []


def test_every_environment_has_a_page():
    texts = {
        path.stem: path.read_text(encoding="utf-8") for path in (SITE / "environments").iterdir()
    }
    for id in compiler_gym.COMPILER_GYM_ENVS:
        assert any(f"gymnasium.make(&quot;{id}&quot;)" in text for text in texts.values()), id


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("llvm", "chooses this observation and this reward; compiler_gym.make() chooses neither"),
        ("llvm-ic-v0", "chooses this observation; compiler_gym.make() chooses none"),
        ("llvm-autophase-ic-v0", None),
    ],
)
def test_environment_pages_name_the_defaults_of_gymnasium(name, note):
    text = (SITE / f"environments/{name}.html").read_text(encoding="utf-8")
    plain = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", text))
    if note is None:
        assert "gymnasium.make() alone" not in plain
    else:
        assert f"gymnasium.make() alone {note}" in plain


@pytest.mark.parametrize("name", ["llvm", "gcc", "mlir", "inlining", "regalloc", "inline-regalloc"])
def test_environment_pages_have_the_same_form(name):
    text = (SITE / f"environments/{name}.html").read_text(encoding="utf-8")
    form = ["actions", "observations", "rewards", "starting-state", "episode-end"]
    form += ["arguments", "versions"]
    places = re.findall(r'<section id="([\w-]+)"', text)
    assert [each for each in places if each in form] == form


MODULES = sorted(path.stem for path in (SITE / "reference").glob("compiler_gym*.html"))


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    text = (SITE / f"reference/{module}.html").read_text(encoding="utf-8")
    for name in reference_pages.public_names(module):
        assert re.search(rf"\b{name}\b", text), name


def test_members_of_parts_of_a_class_are_in_the_reference():
    ids = page(SITE / "reference/compiler_gym.envs.llvm.html").ids
    of_llvm = "compiler_gym.envs.llvm.LlvmEnv"
    assert {f"{of_llvm}.write_bitcode", f"{of_llvm}.commandline"} <= ids
    assert f"{of_llvm}.require_datasets" not in ids  # It is on the page of the base class.
    ids = page(SITE / "reference/compiler_gym.service.html").ids
    assert "compiler_gym.service.ClientServiceCompilerEnv.require_datasets" in ids


def test_every_entry_of_the_reference_has_a_text():
    entries = {module: Entries(SITE / f"reference/{module}.html") for module in MODULES}
    assert sum(each.count for each in entries.values()) > 1000
    assert {name: each.without_text for name, each in entries.items() if each.without_text} == {}


def test_an_entry_without_text_is_found(tmp_path):
    (tmp_path / "page.html").write_text('<dl><dt class="sig py">f()</dt><dd></dd></dl>')
    assert Entries(tmp_path / "page.html").without_text == ["f()"]


def test_tables_were_generated():
    command_line = (SITE / "command-line.html").read_text(encoding="utf-8")
    assert "--evaluations" in command_line
    assert "options of" not in command_line
    llvm = (SITE / "environments/llvm.html").read_text(encoding="utf-8")
    for expected in ("function(gvn)", "IrInstructionCountOz", "Autophase", "pass_plugins"):
        assert expected in llvm


def test_notebooks_have_plots():
    for name in ("first-steps", "train-a-policy", "shrink-a-program"):
        resources = page((SITE / f"notebooks/{name}.html").resolve()).resources
        assert any(f"{name}-" in address and address.endswith(".png") for address in resources)
