"""``compiler-gym datasets``: lists, installs and removes datasets of programs."""

import re
import textwrap
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from compiler_gym.cli.console import print_json, print_line, print_table, progress_bar, working_on
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import EnvOption, JsonOption, opened_env
from compiler_gym.util.runfiles_path import site_data_path

if TYPE_CHECKING:
    from compiler_gym.datasets import Dataset

datasets_app = typer.Typer(
    name="datasets",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, install, remove datasets of programs.",
)

_LICENCE_WIDTH = 12
_SOURCE_WIDTH = 19

NamesArgument = Annotated[
    list[str], typer.Argument(help="Names of datasets, e.g. cbench-v1.", show_default=False)
]


@datasets_app.command("list")
def list_datasets(env: EnvOption = "llvm-v0", as_json: JsonOption = False) -> None:
    """List the datasets with size, licence, and support for running and validation."""
    with opened_env(env) as opened:
        if as_json:
            print_json([_facts(dataset) for dataset in opened.datasets])
            return
        print_table(_row(dataset) for dataset in opened.datasets)
    print_line(
        "\nWhat is not here (-) is downloaded when it is first used, and kept in\n"
        f"{site_data_path()}\n"
        "Those without a number have no end, or nobody knows it. More facts: --json"
    )


def _facts(dataset: "Dataset") -> dict[str, Any]:
    """Returns the facts about a dataset; None for an unknown number."""
    return {
        "dataset": dataset.name,
        "description": dataset.description,
        "programs": dataset.size or None,
        "installed": dataset.installed,
        "bytes_on_disk": dataset.site_data_size_in_bytes,
        "licence": dataset.license or "unknown",
        "runnable": dataset.runnable,
        "validatable": dataset.validatable,
        "source": dataset.source,
        "references": dataset.references,
    }


def _row(dataset: "Dataset") -> dict[str, Any]:
    """Returns the facts that fit in 80 columns."""
    size = dataset.site_data_size_in_bytes
    return {
        "dataset": dataset.name.removeprefix(f"{dataset.scheme}://"),
        "number": dataset.size or None,
        "size": _describe_bytes(size) if size or dataset.installed else "-",
        "licence": _beginning(dataset.license or "unknown", _LICENCE_WIDTH),
        "run": _running(dataset.runnable, dataset.validatable),
        "source": _beginning(_host_of(dataset.source) or dataset.source, _SOURCE_WIDTH),
    }


def _running(*answers: str) -> str:
    """Returns whether programs can be run and their output checked: two answers if these differ."""
    brief = ("some" if answer == "Partially" else answer.lower() for answer in answers)
    return "/".join(dict.fromkeys(brief))


def _beginning(text: str, width: int) -> str:
    """Returns the words of a text that fit into one line."""
    sentence = re.split("[.,:] ", text)[0]
    return textwrap.shorten(sentence, width, placeholder="…") if " " in sentence else sentence


def _host_of(address: str) -> str:
    return urlsplit(address).netloc.removeprefix("dl.")


def _describe_bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


@datasets_app.command()
def programs(
    names: NamesArgument,
    limit: Annotated[
        int, typer.Option(min=1, help="Maximum number of programs for each dataset.")
    ] = 100,
    env: EnvOption = "llvm-v0",
    as_json: JsonOption = False,
) -> None:
    """List programs of datasets. Downloads the lists if needed."""
    with opened_env(env) as opened:
        uris: list[str] = []
        for name in names:
            dataset = opened.datasets.dataset(name)
            with working_on(f"listing {dataset}"):
                uris += islice(dataset.benchmark_uris(), limit)
    if as_json:
        print_json(uris)
    else:
        print_line("\n".join(uris))


@datasets_app.command()
def install(
    names: NamesArgument,
    part: Annotated[
        str | None,
        typer.Option(help="Download what this part needs: train, validation or test."),
    ] = None,
    env: EnvOption = "llvm-v0",
) -> None:
    """Download datasets, unless they are installed.

    The exit code is 1 if one cannot be installed.
    """
    from compiler_gym.datasets import Subset

    failures = Failures(len(names))
    with opened_env(env) as opened:
        chosen = [opened.datasets.dataset(name) for name in names]
        for dataset in chosen:
            with failures.noted(str(dataset)):
                _prefetch(dataset, part)
                count = Subset(dataset, part).size or "any number of"
                of_part = f" of {part}" if part else ""
                print_line(f"{dataset} is installed: {count} programs{of_part}")
    failures.print()
    if failures.reasons:
        raise typer.Exit(1)


def _prefetch(dataset: "Dataset", part: str | None) -> None:
    with progress_bar() as bar:
        task = bar.add_task(f"installing {dataset}", total=None)
        dataset.prefetch(part, lambda done, total: bar.update(task, completed=done, total=total))


@datasets_app.command()
def remove(names: NamesArgument, env: EnvOption = "llvm-v0") -> None:
    """Delete the downloaded files of datasets."""
    with opened_env(env) as opened:
        chosen = [opened.datasets.dataset(name) for name in names]
        for dataset in chosen:
            size = dataset.site_data_size_in_bytes
            dataset.uninstall()
            print_line(f"{dataset} is removed: {size} bytes")
