"""``compiler-gym scoreboard``: compares methods on sets of programs, as papers do."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import cell, messages, print_json, print_line, print_table
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import (
    JsonOption,
    complete_policy,
    complete_program,
    opened_env,
    program_uris,
)
from compiler_gym.cli.pool_options import PoolProgress, RayOption, command_pool
from compiler_gym.tuning.policies.shipped import SHIPPED
from compiler_gym.util.filesystem import atomic_file_write, read_text
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import percent, plural

if TYPE_CHECKING:
    from compiler_gym.cli.scoreboard_task import Method
    from compiler_gym.datasets import Datasets
    from compiler_gym.distributed.task import Job, Outcome
    from compiler_gym.evaluation.scoreboard import Mean, Standing

_ROWS = "rows.jsonl"
_PAGE = "index.html"
_LONGEST_SECONDS = 86400.0
_DASHES = re.compile("^--")
_STYLE = (
    "body{font-family:sans-serif;margin:2em} td,th{padding:.2em .8em;text-align:right} "
    "td:first-child,th:first-child{text-align:left}"
)


def scoreboard(
    sets: Annotated[
        list[str],
        typer.Argument(
            help="Each is a set: a folder of sources, .ll or .bc files, a dataset such as "
            "kernels-v0, or a program.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help=f"May be given several times: search, a policy ({', '.join(SHIPPED)}), its JSON "
            "file, or a text file with a sequence of passes in each line: names of LLVM 22 or 10, "
            "or a command of opt. By default pieces and search.",
            autocompletion=complete_policy,
            show_default=False,
        ),
    ] = None,
    tries: Annotated[
        str, typer.Option(help="Numbers of tries to compare at, rising. The last one is the end.")
    ] = "1,10,100",
    llvm_only: Annotated[
        bool, typer.Option("--llvm-only", help="Search with passes of LLVM, and marks, alone.")
    ] = False,
    count: Annotated[int, typer.Option(min=1, help="Maximum number of programs of a set.")] = 100,
    seed: Annotated[int, typer.Option(help="The seed of searches.")] = 0,
    output_folder: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of rows.jsonl and index.html.")
    ] = Path("scoreboard"),
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of programs in parallel; by default all processors."),
    ] = None,
    ray: RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods on sets of programs, as papers do.

    The result of a method is the share of IR instructions that it saves. It is a mean over the
    programs of a set, and then over sets. One table is against opt -Oz, one against opt -Oz with
    all functions marked for size, as clang -Oz marks them.

    A try is a sequence whose result is looked at. A row counts if the real opt repeats its result,
    byte for byte. The same command continues after an interrupt, and tries failed programs again.
    Another --method adds rows.

    \b
    Examples:
      compiler-gym scoreboard kernels-v0
      compiler-gym scoreboard blas/ npb/ --tries 1,10,100,1000 --llvm-only
      compiler-gym scoreboard src/ --method their_sequences.txt --method pieces
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.cli.scoreboard_task import KEY, Attempt
    from compiler_gym.distributed.json_table import add_rows, rows_of
    from compiler_gym.distributed.pool import Limits
    from compiler_gym.distributed.programs import Program
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
    from compiler_gym.evaluation.scoreboard import standings
    from compiler_gym.util.llvm_tools import llvm_version, opt_path

    budgets = _numbers(tries)
    path, page = output_folder / _ROWS, output_folder / _PAGE
    if page.exists() and not path.exists():
        raise FileExistsError(f"{page} is no page of a scoreboard: name another folder with -o")
    opt_path()  # Raises an error that says how to install it.
    given = _distinct(methods or ("pieces", "search"), lambda name: _method_file(name).stem)
    chosen = [_method(name, shown, budgets[-1]) for name, shown in given.items()]
    datasets = LlvmDatasets(get_llvm_datasets())
    programs = _programs(datasets, sets, count)
    failures = Failures(len(programs))
    known: set[str] = set()
    settings = {"llvm_only": llvm_only, "seed": seed, "llvm": llvm_version()}

    def jobs_of_programs() -> "Iterable[Job]":
        for uri, set_name in programs.items():
            with failures.noted(uri):
                program = Program.of(datasets.benchmark(uri))
                for method in chosen:
                    job = Attempt.job(program, set_name, method, **settings)
                    known.add(job.task.name)
                    yield job

    limits = Limits(workers=jobs, task_seconds=_LONGEST_SECONDS)
    is_interrupted = False
    with (
        command_pool(ray, limits) as pool,
        PoolProgress(pool, len(programs) * len(chosen), "rows").shown() as progress,
    ):

        def watch(_: "Outcome | None") -> None:
            progress.advance()

        try:
            add_rows(pool, jobs_of_programs(), path, KEY, watch)
        except KeyboardInterrupt:
            is_interrupted = True
    rows = [row for row in rows_of(path, KEY) if row[KEY] in known]
    for row in rows:
        if "error" in row:
            failures.reasons[row["program"]] = row["error"]
    found = standings((row for row in rows if "error" not in row), budgets)
    if as_json:
        print_json({"standings": [asdict(each) for each in found], "failed": failures.reasons})
    elif found:
        tables = _tables(found, budgets)
        for title, cells in tables:
            print_table(cells, title)
            print_line()
        _write_page(page, tables)
        print_line(f"{plural(len(rows), 'row')} in {path}, the tables in {page}.")
    failures.print()
    if is_interrupted:
        messages().print("Stopped. The same command goes on.")
        raise typer.Exit(INTERRUPTED)
    if failures.reasons or not found or any(each.left_out for each in found):
        raise typer.Exit(1)


def _numbers(text: str) -> list[int]:
    """Reads rising numbers of tries."""
    try:
        numbers = [int(each) for each in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1 or numbers != sorted({*numbers}):
        raise typer.BadParameter(f"--tries: expected rising numbers such as 1,10,100, got {text!r}")
    return numbers


def _programs(datasets: "Datasets", sets: Sequence[str], count: int) -> dict[str, str]:
    """Returns the set of each program. A program of two sets is of the first."""
    programs: dict[str, str] = {}
    shown = _distinct(sets, lambda name: name.rstrip("/").rpartition("/")[2])
    for name, short in shown.items():
        for uri in program_uris(datasets, [name], count):
            programs.setdefault(uri, short)
    return programs


def _distinct(names: Iterable[str], shorten: Callable[[str], str]) -> dict[str, str]:
    """Returns the short form of each name. Names with the same short form stay as they are."""
    short = {name: shorten(name) for name in names}
    count = Counter(short.values())
    return {name: each if count[each] == 1 else name for name, each in short.items()}


def _method_file(name: str) -> Path:
    return SHIPPED.get(name, Path(name))


def _method(name: str, shown: str, tries: int) -> "Method":
    """Reads a method.

    Args:
        name: Its name or file.
        shown: Its name in tables.
        tries: The most tries.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If a file is neither a policy nor sequences.
    """
    from compiler_gym.cli.scoreboard_task import POLICY, SEARCH, SEQUENCES, Method
    from compiler_gym.tuning.policies.policy import Policy

    if name == SEARCH:
        return Method(shown, SEARCH, b"", tries)
    path = _method_file(name)
    if name in SHIPPED or path.suffix == ".json" or not path.is_file():
        Policy.load(name)  # Raises an error for another file.
        return Method(shown, POLICY, path.read_bytes(), 0)
    sequences = _read_sequences(path)[:tries]
    return Method(shown, SEQUENCES, json.dumps(sequences).encode(), tries)


def _read_sequences(path: Path) -> list[tuple[str, list[str]]]:
    """Reads sequences of passes, one in each line: the action space and the names of the actions.

    Raises:
        ValueError: If there are none, or a part of one is no action.
    """
    from compiler_gym.cli.sequence_trials import PASS_SPACE
    from compiler_gym.compat.legacy_actions import LEGACY_SPACE
    from compiler_gym.tuning.policies.policy import LEVEL_SPACE

    found = []
    with opened_env("llvm-v0") as env:
        by_name = {each.name: each for each in env.action_spaces}
        spaces = [by_name[name] for name in (PASS_SPACE, LEVEL_SPACE, LEGACY_SPACE)]
        for number, line in enumerate(read_text(path).splitlines(), start=1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            try:
                found.append(_actions(spaces, text))
            except (LookupError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    if not found:
        raise ValueError(f"{path}: expected a sequence of passes in each line, got none")
    return found


def _actions(spaces: Sequence[Any], text: str) -> tuple[str, list[str]]:
    """Reads a sequence as actions of the first space that has them.

    Raises:
        LookupError, ValueError: From the first space, if none has them.
    """
    names = [_DASHES.sub("-", name) for name in text.split()]
    for space in spaces:
        if all(name in space.names for name in names):
            return space.name, names
    errors: list[LookupError | ValueError] = []
    for space in spaces:
        try:
            return space.name, [space.names[action] for action in space.from_string(text)]
        except (LookupError, ValueError) as error:
            errors.append(error)
    raise errors[0]


def _tables(
    found: "Sequence[Standing]", budgets: Sequence[int]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Returns the title and the rows of each table."""
    from compiler_gym.evaluation.scoreboard import BASELINES

    names = [*found[0].sets]
    of_sets = f"mean of {plural(len(names), 'set')}"
    last = budgets[-1]
    tables = [
        (
            f"IR instructions saved against {description}, by tries, {of_sets}",
            [
                {
                    "method": each.method,
                    "programs": each.programs,
                    **{str(at): percent(each.saved[baseline][at].value) for at in budgets},
                    "margin\nof 95 %": _margin(each.saved[baseline][last]),
                    "tries": f"{each.tries:.0f}",
                }
                for each in found
            ],
        )
        for baseline, description in BASELINES.items()
    ]
    tables.append(
        (
            "Seconds for a program, by tries",
            [
                {
                    "method": each.method,
                    **{str(at): _seconds(each.pace[at]) for at in budgets},
                    "all": f"{each.seconds:.1f}",
                }
                for each in found
            ],
        )
    )
    tables.append(
        (
            f"By set, against opt -Oz, after {plural(last, 'try', 'tries')}",
            [
                {
                    "set": name,
                    **{each.method: percent(_saved_in(each, name, last)) for each in found},
                }
                for name in names
            ],
        )
    )
    tables.append(
        (
            "Code saved against clang -Oz by these results, and what does not count",
            [
                {
                    "method": each.method,
                    "code": percent(each.code.value if each.code else None),
                    "margin\nof 95 %": _margin(each.code),
                    "above -Oz": each.larger,
                    "left out": each.left_out,
                }
                for each in found
            ],
        )
    )
    return tables


def _saved_in(standing: "Standing", name: str, tries: int) -> float | None:
    return standing.sets[name]["Oz"][tries] if name in standing.sets else None


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"


def _margin(mean: "Mean | None") -> str:
    return "" if mean is None or mean.margin is None else f"{100 * mean.margin:.2f}"


def _write_page(path: Path, tables: Iterable[tuple[str, list[dict[str, Any]]]]) -> None:
    """Writes the tables as a page."""
    from compiler_gym.tuning.size.html_elements import element, html_of

    body = element("body")
    for title, rows in tables:
        lines = [("th", [*rows[0]]), *(("td", [*row.values()]) for row in rows)]
        cells = (
            element("tr", {}, *(element(tag, {}, cell(value)) for value in values))
            for tag, values in lines
        )
        body.extend([element("h2", {}, title), element("table", {}, *cells)])
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("title", {}, "Scoreboard"),
        element("style", {}, _STYLE),
    )
    page = element("html", {"lang": "en"}, head, body)
    with atomic_file_write(path, fileobj=True, mode="w") as file:
        file.write(f"<!DOCTYPE html>\n{html_of([page])}")
