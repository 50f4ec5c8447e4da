"""A page about a search: one HTML file without scripts, which needs no network."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from xml.etree.ElementTree import Element

from compiler_gym.tuning.size.attribution import Effect, Findings, Function, attribute
from compiler_gym.tuning.size.html_charts import (
    Part,
    all_parts,
    curve,
    key,
    size_against_cycles,
    treemaps,
)
from compiler_gym.tuning.size.html_elements import (
    assembly_of,
    cell,
    change_of,
    changed_lines,
    element,
    html_of,
    number,
    short_name,
    signed,
    table,
    tone,
    visible,
)
from compiler_gym.tuning.size.image import CALL_CYCLES, processor_of
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.object_file import group_functions
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.trial_linking import LinkedSize
from compiler_gym.util.shell_format import join_cmd, plural

REQUIRED_TOOLS = ("llvm-objdump", "llvm-readelf")
"""The tools of LLVM without which there is no page."""

_TEMPLATE = Path(__file__).parent / "html_report.html"

_GOALS = {
    Objective.ALL: "bytes loaded",
    Objective.TEXT: "bytes of code",
    Objective.LINKED: "bytes loaded of the linked program",
    Objective.INSTRUCTIONS: "instructions",
}

_MAX_ROWS = 60
_MAX_EFFECTS = 40
_MAX_FUNCTIONS_OF_EFFECT = 3
_MAX_REASONS = 3
_MAX_ASSEMBLY = 24


def write_html(
    output: Path,
    search: Optimizer,
    target: str,
    command: Sequence[str],
    *,
    is_checked: bool,
    linker: Linker | None = None,
    jobs: int = 1,
) -> None:
    """Writes a page about a search that has ended. clang is run once more for each decision.

    Args:
        output: The HTML file.
        search: The search.
        target: The name of the object file.
        command: The command that makes it.
        is_checked: Whether there was a check.
        linker: The linker of the search, if the objective is about what is linked.
        jobs: How many compilers run at a time.

    Raises:
        EnvironmentNotSupported: If a tool of LLVM is not installed.
        ValueError: If a file of clang cannot be disassembled.
        RuntimeError: If clang fails where it did not during the search.
        OSError: If the page cannot be written.
    """
    page = page_of(attribute(search, linker, jobs), target, command, is_checked)
    output.write_text(page, encoding="utf-8")


def page_of(findings: Findings, target: str, command: Sequence[str], is_checked: bool) -> str:
    """Returns the HTML of a page.

    Args:
        findings: The facts.
        target: The name of the object file.
        command: The command that makes it.
        is_checked: Whether there was a check.
    """
    name = visible(target)
    title = html_of([element("title", None, f"{name}: code size")]).strip()
    body = html_of([_header(findings, name, is_checked), _main(findings, command)])
    template = Template(_TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(title=title, body=body)


def _header(findings: Findings, target: str, is_checked: bool) -> Element:
    search = findings.search
    before, after = search.size(findings.before), search.size(findings.after)
    level = search.evaluator.compilation.level
    headline = (
        f"{target}: {number(after)} {_GOALS[search.objective]}, {change_of(before, after)} against "
        f"the {number(before)} of clang {level}"
    )
    places = {
        "map": "Map",
        "search": "Search",
        "decisions": "Decisions",
        "functions": "Functions",
        "assembly": "Assembly",
        "command": "Command",
    }
    links = (element("a", {"href": f"#{place}"}, name) for place, name in places.items())
    said = "The result passed its check." if is_checked else "The result was not checked."
    return element(
        "header",
        None,
        element("h1", None, headline),
        element("p", {"class": "soft"}, f"{said} Objective: {search.objective.value}."),
        element("nav", {"aria-label": "Sections"}, *links),
        _tiles(findings),
    )


def _tiles(findings: Findings) -> Element:
    before, after = findings.before, findings.after
    figures: list[tuple[str, float, float]] = [
        ("Bytes of code", before.object.text, after.object.text),
        ("Bytes loaded", before.loaded, after.loaded),
    ]
    if before.object.instruction_count is not None and after.object.instruction_count is not None:
        count = before.object.instruction_count, after.object.instruction_count
        figures.append(("Instructions", *count))
    if isinstance(before.linked, LinkedSize) and isinstance(after.linked, LinkedSize):
        figures.append(("Bytes loaded, linked", before.linked.loaded, after.linked.loaded))
        figures.append(("Bytes of the stripped program", before.linked.file, after.linked.file))
    if cycles := _sum_of_cycles(findings.functions):
        figures.append(("Estimated cycles, changed functions", *cycles))
    tiles = [
        element(
            "div",
            None,
            element("dt", None, name),
            element(
                "dd",
                None,
                f"{old:,.0f} → {new:,.0f}",
                element("small", {"class": tone(old, new)}, change_of(old, new)),
            ),
        )
        for name, old, new in figures
    ]
    return element("dl", {"class": "tiles"}, *tiles)


def _sum_of_cycles(functions: Sequence[Function]) -> tuple[float, float] | None:
    known = [each.cycles for each in functions]
    sums = [(before, after) for before, after in known if before is not None and after is not None]
    return (sum(each[0] for each in sums), sum(each[1] for each in sums)) if sums else None


def _main(findings: Findings, command: Sequence[str]) -> Element:
    return element(
        "main",
        None,
        *_section("map", "Map", _map(findings)),
        *_section("search", "Search", _search(findings.search)),
        *_section("decisions", "Decisions", _decisions(findings)),
        *_section("functions", "Functions", _functions(findings)),
        *_section("assembly", "Assembly", _assembly(findings)),
        *_section("command", "Command", [element("pre", None, visible(join_cmd(command)))]),
    )


def _section(place: str, title: str, contents: Sequence[Element]) -> list[Element]:
    heading = element("h2", {"id": place}, title)
    return [element("section", {"aria-labelledby": place}, heading, *contents)]


def _paragraph(text: str) -> Element:
    return element("p", {"class": "soft"}, text)


def _map(findings: Findings) -> list[Element]:
    before, after = findings.maps
    sizes = group_functions(before.functions), group_functions(after.functions)
    names = findings.names
    links = _links(findings.functions)
    functions = [
        Part(names[name], sizes[0][name], sizes[1][name], True, links.get(name, ""))
        for name in {**sizes[0], **sizes[1]}
    ]
    parts = all_parts(functions, (before.code, after.code), (before.tables, after.tables))
    kind = "object file"
    if findings.before.linked:
        kind = "program"
    elif findings.before.alone:
        kind = "object file, linked alone"
    return [
        _paragraph(
            f"Each rectangle is a function or a table of the {kind}. Its area is in proportion to "
            "its bytes, in the same scale before and after. A link leads to the assembly."
        ),
        treemaps(parts),
        key(),
    ]


def _search(search: Optimizer) -> list[Element]:
    before = search.size(search.baseline)
    rows = [
        [
            cell(each.name),
            cell(number(each.evaluations), kind="number"),
            cell(f"{each.seconds:.1f}", kind="number"),
            cell(number(each.size), kind="number"),
            cell(change_of(before, each.size), kind=f"number {tone(before, each.size)}"),
        ]
        for each in search.stages
    ]
    header = ["stage", "#evaluations", "#seconds", f"#{search.objective.unit}", "#change"]
    stages = table(header, rows, "Stages of the search")
    return [
        _paragraph(
            "An evaluation is a run of clang with a change. The curve is the smallest size so far, "
            "before any check; the table has the smallest size that was kept after each stage."
        ),
        element("div", {"class": "pair"}, curve(search), stages),
    ]


def _decisions(findings: Findings) -> list[Element]:
    effects = findings.effects
    if not effects:
        return [_paragraph("No change made the result smaller.")]
    largest = max(abs(each.saved or 0) for each in effects) or 1
    rows = [_row_of_effect(each, largest, findings.names) for each in effects[:_MAX_EFFECTS]]
    header = ["decision", f"#{findings.unit} saved", "", "functions that it changes most"]
    notes = [
        _paragraph(
            "Each decision was left out of the result, alone. The difference is what it saves. "
            "Decisions interact, so these numbers do not add up to the whole. A pass that is "
            "left out of several functions is one decision."
        )
    ]
    left = len(effects) - len(rows) + findings.unmeasured
    end = [_paragraph(f"{plural(left, 'further decision')} not shown.")] if left else []
    return [*notes, table(header, rows, "Decisions of the result"), *end]


def _row_of_effect(effect: Effect, largest: int, names: Mapping[str, str]) -> list[Element]:
    saved = effect.saved
    functions = [
        element("div", None, _name(names[name]), f" {signed(-difference)}")
        for name, difference in effect.functions[:_MAX_FUNCTIONS_OF_EFFECT]
    ]
    rest = len(effect.functions) - len(functions)
    if rest:
        functions.append(element("div", {"class": "soft"}, plural(rest, "other")))
    width = f"width:{100 * abs(saved or 0) / largest:.1f}%"
    bar = element("div", {"style": width, "class": "worse" if (saved or 0) < 0 else ""})
    return [
        cell(_decision(effect, names), kind="name"),
        cell("clang fails without" if saved is None else number(saved), kind="number"),
        cell(bar, kind="bar"),
        cell(*functions, kind="why"),
    ]


def _functions(findings: Findings) -> list[Element]:
    functions = findings.functions
    if not functions:
        return [_paragraph("No function has another size.")]
    links = _links(functions)
    rows = [
        _row_of_function(each, links.get(each.name), findings.names)
        for each in functions[:_MAX_ROWS]
    ]
    header = ["function", "#before", "#after", "#change", "#cycles before", "#after"]
    header.append(f"responsible, in {findings.unit}")
    made = table(header, rows, "Functions that have changed")
    rest = len(functions) - len(rows)
    end = [_paragraph(f"{plural(rest, 'further function')} changed less.")] if rest else []
    known = [
        (each.shown, each.bytes[1] - each.bytes[0], each.change_of_cycles)
        for each in functions
        if all(each.bytes) and each.change_of_cycles is not None
    ]
    chart = [size_against_cycles(known)] if known else []
    return [_note_about_cycles(findings, len(known)), *chart, made, *end]


def _note_about_cycles(findings: Findings, known: int) -> Element:
    processor = processor_of(findings.images[0].arch)
    if not known:
        return _paragraph("There is no estimate of cycles for this target, or no llvm-mca.")
    return _paragraph(
        f"Cycles are an estimate by llvm-mca for {processor}, not a measurement. Each instruction "
        "of a function counts once, whatever loops and branches do. A call counts "
        f"{CALL_CYCLES} cycles, without the function that is called. The picture has the functions "
        "that are there before and after: those to the left of the middle became smaller, those "
        "below it take fewer cycles. Both scales are logarithmic."
    )


def _row_of_function(
    function: Function, place: str | None, names: Mapping[str, str]
) -> list[Element]:
    before, after = function.bytes
    name = _name(function.shown)
    link = element("a", {"href": f"#{place}"}, name) if place else name
    cycles = ("" if each is None else f"{each:,.1f}" for each in function.cycles)
    reasons = (_reason(*each, names) for each in function.reasons[:_MAX_REASONS])
    return [
        cell(link, kind="name"),
        cell(number(before), kind="number"),
        cell(number(after), kind="number"),
        cell(signed(after - before), kind=f"number {tone(before, after)}"),
        *(cell(each, kind="number") for each in cycles),
        cell(*reasons, kind="why"),
    ]


def _name(name: str) -> Element:
    """Returns the name of a function, which may be too long to be shown in a table."""
    short = short_name(name)
    return element("span", {"title": name if short != name else ""}, short)


def _decision(effect: Effect, names: Mapping[str, str]) -> Element:
    before, is_about, after = effect.decision.partition("{}")
    name = [_name(names[effect.symbol])] if is_about else []
    return element("code", None, visible(before), *name, after)


def _reason(effect: Effect, saved: int, names: Mapping[str, str]) -> Element:
    return element("div", None, _decision(effect, names), f" {signed(-saved)}")


def _assembly(findings: Findings) -> list[Element]:
    links = _links(findings.functions)
    shown = [each for each in findings.functions if each.name in links]
    if not shown:
        return [_paragraph("There is no assembly to show.")]
    changed = len(findings.functions)
    note = _paragraph(
        f"The {plural(len(shown), 'function')} that changed most, of {number(changed)} that "
        "changed. The numbers are the bytes of each instruction. Marked lines differ."
    )
    return [note, *(_details(each, links[each.name], findings.names) for each in shown)]


def _links(functions: Sequence[Function]) -> dict[str, str]:
    """Returns the places of the assembly on the page, by the symbols of the functions shown."""
    return {
        each.name: f"f{index}"
        for index, each in enumerate(functions[:_MAX_ASSEMBLY])
        if any(each.assembly)
    }


def _details(function: Function, place: str, names: Mapping[str, str]) -> Element:
    before, after = function.bytes
    title = f"{function.shown}: {number(before)} → {number(after)} bytes"
    reasons = [element("li", None, _reason(*each, names)) for each in function.reasons]
    return element(
        "details",
        None,
        element("summary", None, title),
        # Browsers open the fold that holds the target of a link.
        element(
            "div",
            {"id": place},
            *([element("ul", None, *reasons)] if reasons else []),
            *assembly_of(changed_lines(*function.assembly)),
        ),
    )
