"""``compiler-gym datasets``: the programs that there are, and where they are kept."""

from itertools import islice
from typing import Annotated

import typer

from compiler_gym.cli.console import print_json, print_line, print_table, working_on
from compiler_gym.cli.describe import dataset_row
from compiler_gym.cli.options import EnvOption, JsonOption, opened_env
from compiler_gym.util.runfiles_path import site_data_path

datasets_app = typer.Typer(
    name="datasets",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, install, remove datasets of programs.",
)

NamesArgument = Annotated[
    list[str], typer.Argument(help="Names of datasets, e.g. cbench-v1.", show_default=False)
]


@datasets_app.command("list")
def list_datasets(env: EnvOption = "llvm-v0", as_json: JsonOption = False) -> None:
    """List the datasets, and whether they are installed."""
    with opened_env(env) as opened:
        rows = [dataset_row(dataset) for dataset in opened.datasets]
    if as_json:
        print_json(rows)
        return
    print_table(rows)
    print_line(f"\nKept in {site_data_path()}; a dataset is installed when it is first used.")


@datasets_app.command()
def programs(
    names: NamesArgument,
    limit: Annotated[int, typer.Option(min=1, help="The most to list of each dataset.")] = 100,
    env: EnvOption = "llvm-v0",
    as_json: JsonOption = False,
) -> None:
    """List programs of datasets. Downloads what is needed for that."""
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
def install(names: NamesArgument, env: EnvOption = "llvm-v0") -> None:
    """Download datasets, unless that has been done."""
    with opened_env(env) as opened:
        chosen = [opened.datasets.dataset(name) for name in names]
        for dataset in chosen:
            with working_on(f"installing {dataset}"):
                dataset.install()
            print_line(f"{dataset} is installed: {dataset.size or 'any number of'} programs")


@datasets_app.command()
def remove(names: NamesArgument, env: EnvOption = "llvm-v0") -> None:
    """Delete what was downloaded of datasets."""
    with opened_env(env) as opened:
        chosen = [opened.datasets.dataset(name) for name in names]
        for dataset in chosen:
            size = dataset.site_data_size_in_bytes
            dataset.uninstall()
            print_line(f"{dataset} is removed: {size} bytes")
