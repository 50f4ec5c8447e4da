"""The names of benchmarks."""

import os
import re
from dataclasses import dataclass, field
from functools import total_ordering
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from compiler_gym.util.filesystem import file_of_uri

# Schemes whose path is that of a file; they name no dataset.
FILE_SCHEMES = ("file", "proto")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
# As names of datasets end, so that a file is unlikely to be taken for a benchmark.
_IN_VERSIONED_DATASET = re.compile(rf"{_DATASET.pattern}-v\d+/.")


def names_benchmark(text: str) -> bool:
    """Returns true if a text looks like a benchmark URI without a scheme, e.g. ``npb-v0/1``.

    It may look like the path of a file, too: ``opensource-v0/lz4/lz4libs/lz4.c``.
    """
    return _IN_VERSIONED_DATASET.match(text) is not None


def uri_of_file(path: Path) -> str:
    """Returns the URI of the program in a file."""
    return f"file://{quote(os.fsencode(path.expanduser().absolute()))}"


def names_dataset(uri: str) -> bool:
    """Returns true if a URI names a dataset, rather than a benchmark or a file.

    Raises:
        ValueError: The text is not a URI.
    """
    return not BenchmarkUri.from_string(uri).path.strip("/")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkUri:
    """A benchmark URI: ``scheme://dataset/path?params#fragment``.

    Only the dataset is required; the default scheme is ``benchmark``. The schemes ``file`` and
    ``proto`` name a file instead: ``file:///absolute/path``. A URI compares, sorts and hashes
    as its text, and equals that text.

    Attributes:
        scheme: Such as ``"benchmark"`` or ``"generator"``.
        dataset: The dataset, e.g. ``"npb-v0"``; empty for the schemes that name a file.
        path: What follows the dataset, with its leading slash; may be empty.
        params: The values of each parameter, in the order given. Do not change it.
        fragment: What follows the ``#``; may be empty.
    """

    scheme: str
    dataset: str
    path: str = ""
    params: dict[str, list[str]] = field(default_factory=dict)
    fragment: str = ""

    @classmethod
    def from_string(cls, uri: str) -> "BenchmarkUri":
        """Parses a URI.

        Args:
            uri: The text. Without a scheme, ``benchmark://`` is put in front.

        Raises:
            ValueError: The text is not a benchmark URI.
            TypeError: It is not a text.
        """
        if not isinstance(uri, str):
            raise TypeError(f"A benchmark URI must be a str, not {type(uri).__name__}")
        text = uri if "://" in uri else f"benchmark://{uri}"
        if _CONTROL_CHARACTER.search(text):
            raise ValueError(f"Malformed benchmark URI {uri!r}: it has a control character")
        scheme, rest = text.split("://", 1)
        if not _SCHEME.fullmatch(scheme):
            raise ValueError(f"Malformed benchmark URI {uri!r}: {scheme!r} is not a scheme")
        # The scheme is kept out of the split, because what is split depends on it.
        parts = urlsplit(f"//{rest}")
        cls._check_dataset(uri, scheme, parts.netloc, parts.path)
        params = parse_qs(parts.query, keep_blank_values=True)
        return cls(scheme, parts.netloc, parts.path, params, parts.fragment)

    @staticmethod
    def _check_dataset(uri: str, scheme: str, dataset: str, path: str) -> None:
        """Raises ValueError unless there is a dataset, or a file where the scheme wants one."""
        if scheme in FILE_SCHEMES:
            if dataset or not path.strip("/"):
                raise ValueError(
                    f"Malformed benchmark URI {uri!r}: "
                    f"write {scheme}:///absolute/path, with three slashes"
                )
        elif not _DATASET.fullmatch(dataset):
            raise ValueError(
                f"Malformed benchmark URI {uri!r}: {dataset!r} is not the name of a dataset; "
                "write scheme://dataset/path, for example benchmark://kernels-v0/sha256"
            )

    @staticmethod
    def canonicalize(uri: str) -> str:
        """Returns the canonical text of a URI, with its scheme.

        Raises:
            ValueError: The text is not a benchmark URI.
        """
        return str(BenchmarkUri.from_string(uri))

    @property
    def dataset_uri(self) -> str:
        """The full name of the dataset, e.g. ``"benchmark://npb-v0"``."""
        return f"{self.scheme}://{self.dataset}"

    def startswith(self, *args: Any) -> bool:
        """Returns true if the text of the URI starts with a prefix, see ``str.startswith``."""
        return str(self).startswith(*args)

    def endswith(self, *args: Any) -> bool:
        """Returns true if the text of the URI ends with a suffix, see ``str.endswith``."""
        return str(self).endswith(*args)

    def file(self) -> Path:
        """Returns the file that a URI of a file names. The path may be percent-encoded."""
        # A name may have a "#".
        text = f"{self.path}#{self.fragment}" if self.fragment else self.path
        return file_of_uri(f"file://{text}")

    def __str__(self) -> str:
        query = f"?{urlencode(self.params, doseq=True)}" if self.params else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{self.dataset_uri}{self.path}{query}{fragment}"

    def __repr__(self) -> str:
        return f"BenchmarkUri({str(self)!r})"

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (BenchmarkUri, str)):
            return str(self) == str(other)
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        if isinstance(other, (BenchmarkUri, str)):
            return str(self) < str(other)
        return NotImplemented


# The number of a program's run in a benchmark URI.


def run_number(uri: BenchmarkUri, runs: int) -> int:
    """Returns the parameter ``dataset`` of a URI; 0 by default.

    Args:
        uri: The URI of a benchmark.
        runs: The number of runs.

    Raises:
        ValueError: There is another parameter, or the number is out of range.
    """
    unknown = set(uri.params) - {"dataset"}
    if unknown:
        raise ValueError(
            f"Unknown parameter '{min(unknown)}' of benchmark {uri}: only 'dataset' is known"
        )
    values = uri.params.get("dataset", ["0"])
    if len(values) != 1 or values[0] not in map(str, range(runs)):
        raise ValueError(
            f"Parameter 'dataset' of benchmark {uri} is out of range: it must be one number from 0 "
            f"to {runs - 1}"
        )
    return int(values[0])
