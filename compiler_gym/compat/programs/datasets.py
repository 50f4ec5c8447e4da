"""Manages the datasets of an environment: prints them, downloads them, deletes their files.

python -m compiler_gym.bin.datasets --env=llvm-v0
python -m compiler_gym.bin.datasets --env=llvm-v0 --download=npb-v0,blas-v0
python -m compiler_gym.bin.datasets --env=llvm-v0 --delete=npb-v0
"""

from typing import NoReturn

from compiler_gym.cli.console import messages, print_line, print_table, working_on
from compiler_gym.cli.describe import dataset_row
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import no_arguments, start
from compiler_gym.datasets import Dataset
from compiler_gym.util.runfiles_path import site_data_path

flags.DEFINE_list("download", [], "Datasets to download.")
flags.DEFINE_boolean("download_all", False, "Download all datasets.")
flags.DEFINE_list("delete", [], "Datasets whose files to delete.")
flags.DEFINE_list("activate", [], "Does nothing: every dataset can be used.")
flags.DEFINE_list("deactivate", [], "Does nothing: datasets cannot be set aside.")


def main(argv: list[str]) -> None:
    """Does what the flags say, and prints the datasets."""
    no_arguments(argv)
    values = flags.FLAGS
    if not values["env"].present and not values.ls_env:
        values["env"].value = "llvm-v0"
    with env_from_flags() as env:
        names = [*env.datasets] if values.download_all else values.download
        chosen = [env.datasets.dataset(name) for name in names]
        deleted = [env.datasets.dataset(name) for name in values.delete]
        for name in (*values.activate, *values.deactivate):
            env.datasets.dataset(name)
            messages().print(f"{name}: every dataset can be used, and is when it is named")
        for dataset in deleted:
            dataset.uninstall()
        for dataset in chosen:
            with working_on(f"downloading {dataset}"):
                dataset.install()
        _print_datasets([*env.datasets])


def _print_datasets(datasets: list[Dataset]) -> None:
    print_line(f"Datasets are kept in {site_data_path()}")
    for title, installed in (("Installed", True), ("Not installed", False)):
        rows = [dataset_row(each) for each in datasets if each.installed == installed]
        if rows:
            print_line()
            print_table(rows, title)
    print_line("\nA dataset is installed when it is first used, or by --download=NAME.")


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
