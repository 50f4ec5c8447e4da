"""Datasets that were published for former releases of CompilerGym.

``published.json`` beside this file has the facts: one entry for each dataset, with the
arguments of :class:`TarDataset` or :class:`TarDatasetWithManifest` by name, and

``language``
    ``"bitcode"`` if the archive has bitcode (of LLVM 10, which later releases read), else the
    language of its source files, which are compiled on demand.
``programs``
    The source file of each benchmark by name, where the archive has more files than benchmarks.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from compiler_gym.datasets.benchmark import Benchmark, BenchmarkWithSource
from compiler_gym.datasets.files_dataset import SourceCompiler
from compiler_gym.datasets.tar_dataset import TarDataset, TarDatasetWithManifest
from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation, run_tool
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.errors.nearest_names import unknown_name

BITCODE = "bitcode"


def published_datasets(
    site_data_base: str | Path, compilers: Mapping[str, SourceCompiler] | None = None
) -> Iterator[TarDataset]:
    """Returns all published datasets that can be used.

    Args:
        site_data_base: The directory for the files of the datasets.
        compilers: The compilers by language. Datasets in other languages are left out.
    """
    compilers = compilers or {}
    for name, facts in published_facts().items():
        language = facts["language"]
        if language == BITCODE or language in compilers:
            yield published_dataset(name, site_data_base, compiler=compilers.get(language))


def published_dataset(
    name: str,
    site_data_base: str | Path,
    compiler: SourceCompiler | None = None,
    benchmark_class: type[Benchmark] | None = None,
) -> TarDataset:
    """Returns one published dataset.

    Args:
        name: The full name, e.g. ``"benchmark://npb-v0"``.
        site_data_base: The directory below which the dataset keeps its files.
        compiler: The compiler of its source files. Not needed for bitcode.
        benchmark_class: The class of the benchmarks. By default a class that has the source, if
            there is one.

    Raises:
        LookupError: There is no such published dataset.
        ValueError: The dataset has source files, and no compiler is given.
    """
    compilers = {} if compiler is None else {_facts_of(name)["language"]: compiler}
    arguments = published_arguments(name, site_data_base, compilers)
    if benchmark_class is not None:
        arguments["benchmark_class"] = benchmark_class
    has_manifest = "manifest_urls" in arguments
    return (TarDatasetWithManifest if has_manifest else TarDataset)(**arguments)


def published_arguments(
    name: str, site_data_base: str | Path, compilers: Mapping[str, SourceCompiler]
) -> dict[str, Any]:
    """Returns the arguments of the class of a published dataset.

    Args:
        name: The full name.
        site_data_base: The directory below which the dataset keeps its files.
        compilers: The compilers by language.

    Raises:
        LookupError: There is no such published dataset.
        ValueError: The dataset has source files of a language without a compiler.
    """
    facts = dict(_facts_of(name))
    language = facts.pop("language")
    compiler = None if language == BITCODE else compilers.get(language)
    if language != BITCODE and compiler is None:
        raise ValueError(f"Dataset {name} needs a compiler of {language} source files")
    return {
        "site_data_base": site_data_base,
        "compiler": compiler,
        "benchmark_class": BenchmarkWithSource if compiler else Benchmark,
        **facts,
    }


def _facts_of(name: str) -> Mapping[str, Any]:
    if name not in published_facts():
        raise unknown_name("published dataset", name, published_facts())
    return published_facts()[name]


@cache
def published_facts() -> Mapping[str, Mapping[str, Any]]:
    """Returns the entries of ``published.json`` by the full name of the dataset."""
    text = files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    return {entry["name"]: entry for entry in json.loads(text)}


# Compiles the source files of published datasets.

_COPT = ("-ferror-limit=1", "-w")
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class ClangSourceCompiler:
    """Compiles one source file to unoptimised bitcode.

    Attributes:
        copt: Options for the compiler, including the language: ``("-x", "c")``.
        preamble: Text in front of the source.
    """

    copt: Sequence[str]
    preamble: str = ""

    def __call__(self, source: Path, output: Path) -> None:
        """Compiles a file.

        Args:
            source: The source file. It can include files in the same folder.
            output: The bitcode file to write.

        Raises:
            BenchmarkInitError: If it does not compile within 300 seconds. The text has the reason.
            EnvironmentNotSupported: If clang is not installed.
        """
        args = [*ClangInvocation.DEFAULT_COPT, *_COPT, *self.copt, "-"]
        command = ClangInvocation(args).command(output.absolute())
        # The line marker sets the file name and line in messages, as without a preamble.
        marker = f'{self.preamble}\n# 1 "{source.name}"\n'
        text = marker.encode() + source.read_bytes()
        try:
            run_tool(command, timeout=_TIMEOUT_SECONDS, stdin=text, cwd=source.parent)
        except subprocess.TimeoutExpired as error:
            raise BenchmarkInitError(
                f"Compiling {source} took more than {_TIMEOUT_SECONDS} s"
            ) from error


SOURCE_COMPILERS = {
    "c": ClangSourceCompiler(("-x", "c")),
    # Clang has built-in declarations of OpenCL's functions.
    "opencl": ClangSourceCompiler(("-x", "cl", "-target", "nvptx64-nvidia-nvcl")),
    # The programs of this dataset lack their includes.
    "c++": ClangSourceCompiler(
        ("-x", "c++", "-std=c++11"), "#include <bits/stdc++.h>\nusing namespace std;"
    ),
}
"""The compilers by the language in ``published.json``."""
