"""The page about a search."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from compiler_gym.tuning.size import html_elements, html_report
from compiler_gym.tuning.size.attribution import attribute
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.html_charts import Box, Part, all_parts, squarify, treemaps
from compiler_gym.tuning.size.html_elements import (
    assembly_of,
    change_of,
    changed_lines,
    html_of,
    number,
    short_name,
    signed,
    visible,
)
from compiler_gym.tuning.size.html_report import page_of
from compiler_gym.tuning.size.image import Instruction
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.util import llvm_tools
from compiler_gym.util.shell_format import join_cmd

_MINUS = "\N{MINUS SIGN}"
_VOID = {"meta", "br"}
_MARKUP = "<img src=x onerror=alert(1)>\"'&"

# Functions of C may have any name.
_ODD, _HIDDEN = _MARKUP, "</style><script>alert(2)</script>\\u202e"
PROGRAM = r"""
int odd(int) __asm__("<img src=x onerror=alert(1)>\"'&");
int hidden(int) __asm__("</style><script>alert(2)</script>\342\200\256");
int odd(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++) sum += i * x + sum / 3;
  return sum;
}
int hidden(int x) { return odd(x) + odd(x + 1); }
int main(int count, char** words) {
  int sum = 0;
  for (int i = 0; i < count; i++) sum += hidden(words[i][0]);
  return sum & 1;
}
"""


class Page(HTMLParser):
    """A page as a browser sees it: all of its elements, in order, with their own text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), []))
        if tag not in _VOID:
            self._open.append((tag, self.elements[-1][2]))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, texts in self._open:
            texts.append(data)

    def texts(self, tag, kind=None):
        """The texts of all elements with a tag, and with a class."""
        return [
            "".join(texts).strip()
            for name, attributes, texts in self.elements
            if name == tag and (kind is None or kind in attributes.get("class", "").split())
        ]

    def attributes(self, name):
        return [each[1][name] for each in self.elements if name in each[1]]


def check_page(text):
    """Checks what holds for every page, and returns it."""
    page = Page(text)
    tags = {tag for tag, _, _ in page.elements}
    assert tags <= {
        *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section"),
        *("h1", "h2", "h3", "p", "a", "div", "span", "small", "i", "b", "code", "pre", "ul", "li"),
        *("dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
        *("svg", "path", "line", "text", "circle"),
    }
    policy = page.elements[3][1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none'; style-src 'unsafe-inline';")
    names = {name for _, attributes, _ in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} and "src" not in names
    places = page.attributes("id")
    assert len(places) == len({*places})
    assert {each for each in page.attributes("href")} <= {f"#{place}" for place in places}
    (style,) = page.texts("style")
    for each in (style, *page.attributes("style")):
        assert not re.search(r"url\(|@import|image", each)
    return page


@pytest.fixture(name="compilation", scope="module")
def fixture_compilation(tmp_path_factory):
    source = tmp_path_factory.mktemp("source") / "program.c"
    source.write_text(PROGRAM)
    return Compilation(llvm_tools.clang_path(), source, plugin=llvm_tools.own_passes_path())


@pytest.fixture(name="findings", scope="module")
def fixture_findings(compilation, tmp_path_factory):
    """The facts of a result with decisions of all kinds."""
    change = Change(("-disable-machine-licm", "-disable-lsr")).decide({0: True, 1: True})
    change = change.adjust({0: ("indvars",), 2: ("indvars",)})
    return find_result(compilation, tmp_path_factory.mktemp("search"), change)


def find_result(compilation, folder, change, linker=None):
    objective = Objective.LINKED if linker else Objective.TEXT
    with Evaluator(compilation, folder, Budget(), 2, linker) as evaluator:
        search = Optimizer(evaluator, objective)
        search.start()
        (search.best,) = evaluator.evaluate([change])
    return attribute(search, linker, 2)


def test_functions_and_decisions_of_a_page(findings):
    page = check_page(page_of(findings, "program.o", [], True))
    before, after = findings.before.object.functions, findings.after.object.functions
    changed = {visible(name): (size, after[name]) for name, size in before.items()}
    assert changed.keys() == {_ODD, _HIDDEN, "main"}
    changed = {name: sizes for name, sizes in changed.items() if sizes[0] != sizes[1]}
    assert _HIDDEN in changed
    summaries = dict(each.rsplit(": ", 1) for each in page.texts("summary"))
    assert summaries == {name: f"{old} → {new} bytes" for name, (old, new) in changed.items()}
    assert {*page.texts("code")} >= {
        "-disable-machine-licm",
        "-disable-lsr",
        f"inline {_ODD} (2 calls)",
        "no indvars (2 functions)",
    }
    assert any(each.saved for each in findings.effects)
    assert "Estimated cycles, changed functions" in page.texts("dt")
    rows = [texts for tag, _, texts in page.elements if tag == "tr"]
    for effect in findings.effects:
        decision = effect.decision.replace("{}", findings.names[effect.symbol])
        shown = (f"{decision}{number(effect.saved)}", f"{decision}{effect.saved}")
        assert any("".join(texts).startswith(shown) for texts in rows), decision
    for kind in ("before", "after"):
        assert page.texts("td", kind).count("retq") == len(changed)


def test_names_are_text(findings):
    name = "</title><script>alert(3)</script>\udc80.o"
    page = check_page(page_of(findings, name, ["clang", _MARKUP], False))
    assert any("not checked" in text for text in page.texts("p"))
    shown = "</title><script>alert(3)</script>\\udc80.o"
    assert page.texts("title")[0] == f"{shown}: code size"
    assert page.texts("h1")[0].startswith(f"{shown}: ")
    cells = [each.rpartition(": ")[0] for each in page.attributes("title")]
    assert cells.count(_ODD) == cells.count(_HIDDEN) == 2
    assert {_HIDDEN, "main"} <= {*page.texts("td", "name")}
    assert page.texts("pre") == [join_cmd(["clang", _MARKUP])]


def test_no_change(compilation, tmp_path):
    shared = replace(compilation, options=("-fPIC",))
    page = check_page(page_of(find_result(shared, tmp_path, NO_CHANGE), "program.o", [], True))
    assert "The result passed its check. Objective: text." in page.texts("p")
    assert "No change made the result smaller." in page.texts("p")
    assert "No function has another size." in page.texts("p")
    assert not page.texts("details")
    # The tables of the linker.
    cells = " ".join(page.attributes("title"))
    for name in (".rela.plt", ".got.plt", ".eh_frame_hdr", "padding and code outside of functions"):
        assert f"{name}: " in cells


def test_linked_program(compilation, tmp_path):
    findings = find_result(compilation, tmp_path, Change(("-disable-lsr",)), Linker())
    page = check_page(page_of(findings, "program.o", [], True))
    before, after = findings.before.linked, findings.after.linked
    assert f"{number(before.file)} → {number(after.file)}" in page.texts("dl")[0]
    assert any(each.startswith(".dynamic: ") for each in page.attributes("title"))


def test_limits(findings, monkeypatch):
    monkeypatch.setattr(html_report, "_MAX_ASSEMBLY", 1)
    monkeypatch.setattr(html_report, "_MAX_ROWS", 1)
    monkeypatch.setattr(html_report, "_MAX_EFFECTS", 1)
    monkeypatch.setattr(html_elements, "_MAX_ROWS", 5)
    page = check_page(page_of(replace(findings), "program.o", [], False))
    said = " ".join(page.texts("p"))
    assert re.search(r"The 1 function that changed most, of \d that changed\.", said)
    assert re.search(r"\d+ further lines not shown\.", said)
    assert re.search(r"\d further functions? changed less\.", said)
    assert re.search(r"\d+ further decisions not shown\.", said)
    assert len(page.texts("details")) == 1


def test_assembly_is_side_by_side():
    def lines(*texts):
        return [Instruction("", 1, text, text) for text in texts]

    before = lines("push", "je L1", "mov", "ret")
    after = lines("push", "je L2", "ret", "nop")
    rows = changed_lines(before, after)
    assert [tuple(each and each.text for each in row[:2]) for row in rows] == [
        ("push", "push"),
        ("je L1", "je L2"),
        ("mov", None),
        ("ret", "ret"),
        (None, "nop"),
    ]
    (table,) = assembly_of(rows)
    assert [each.get("class") for each in table.iter("tr")][1:] == [
        *("same", "same", "change", "same", "change")
    ]


def test_parts_of_a_treemap():
    functions = [Part(f"f{index}", 100 - index, 50, True, "place") for index in range(100)]
    functions += [Part(f"g{index}", 1, 2, True) for index in range(40)]
    tables = {".rodata": 9}, {".data": 8}
    parts = all_parts(functions, (5100, 5090), tables)
    assert parts[0] == Part("f0", 100, 50, True, "place")
    assert Part("20 smaller functions", 20, 40, True) in parts
    assert Part("padding and code outside of functions", 10, 10, True) in parts
    assert {Part(".rodata", 9, 0, False), Part(".data", 0, 8, False)} <= {*parts}
    assert sum(each.before for each in parts) == 5109
    assert sum(each.after for each in parts) == 5098
    maps = treemaps(parts)
    cells = [each for each in maps.iter() if "cell" in each.get("class", "").split()]
    classes = {each.get("title").partition(":")[0]: each.get("class") for each in cells}
    assert classes["f0"] == "cell less3" and classes["f99"] == "cell more3"
    assert classes[".rodata"] == "cell table less3" and classes[".data"] == "cell table more3"
    areas = [
        float(width) * float(height)
        for width, height in re.findall(r"width:([\d.]+)%;height:([\d.]+)%", html_of([maps]))
    ]
    assert sum(areas) == pytest.approx(2 * 100 * 100, rel=1e-3)


def test_elements_and_numbers():
    assert visible("a\u202eb\x07\nc\udc80é") == "a\\u202eb\\x07\\nc\\udc80é"
    assert (number(1234), number(0), number(-5)) == ("1,234", "0", f"{_MINUS}5")
    assert (signed(1234), signed(0), signed(-5.25, 1)) == ("+1,234", "0", f"{_MINUS}5.2")
    assert change_of(200, 150) == f"{_MINUS}25.0 %" and change_of(0, 3) == "new"
    assert change_of(0, 0) == change_of(7, 7) == "0.0 %"


def test_short_names():
    for name in ("main", "f" * 56, "void sort<int*>(int*, int*)"):
        assert short_name(name) == name
    sort = "void std::__sort<std::pair<int, long>*, Less<int>>(std::pair<int, long>*, Less<int>)"
    assert short_name(sort) == "std::__sort<…>"
    insert = "std::map<int, std::vector<double>>::insert(std::pair<int, int> const&) const"
    assert short_name(insert) == "std::map<…>::insert"
    shift = "std::ostream& operator<< <std::char_traits<char>>(std::ostream&, char const*)"
    assert short_name(shift) == f"{shift[:55]}…"
    assert short_name("g" * 57) == "g" * 55 + "…"


def test_example_of_the_paper():
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert boxes[:2] == [pytest.approx((0, 0, 3, 2)), pytest.approx((0, 2, 3, 2))]
    assert max(max(each.width / each.height, each.height / each.width) for each in boxes) < 3


@pytest.mark.parametrize("sizes", [[], [1], [1000, 1], [1, 1000], [7] * 50, [*range(1, 90)]])
def test_parts_fill_the_box_without_overlap(sizes):
    whole = Box(1, 2, 16, 10)
    boxes = squarify(sizes, whole)
    areas = [each.width * each.height for each in boxes]
    assert areas == pytest.approx([size * 160 / sum(sizes) for size in sizes])
    for index, one in enumerate(boxes):
        assert one.left >= 1 - 1e-9 and one.left + one.width <= 17 + 1e-9
        assert one.top >= 2 - 1e-9 and one.top + one.height <= 12 + 1e-9
        for other in boxes[:index]:
            width = min(one.left + one.width, other.left + other.width)
            width -= max(one.left, other.left)
            height = min(one.top + one.height, other.top + other.height)
            height -= max(one.top, other.top)
            assert width < 1e-9 or height < 1e-9
