"""Options shared by the commands: environments, programs, and their completion."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, unquote

import typer

from compiler_gym.cli.console import working_on
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.tuning.policies.shipped import SHIPPED
from compiler_gym.util.filesystem import check_replaceable
from compiler_gym.util.registration import COMPILER_GYM_ENVS, make

# Functions import everything else, because each ``--help`` would wait for it.
if TYPE_CHECKING:
    from compiler_gym.datasets import Datasets
    from compiler_gym.envs.compiler_env import CompilerEnv
    from compiler_gym.service.transport.connection_opts import ConnectionOpts

_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)")


def parse_duration(text: str) -> float:
    """Parses a duration such as ``60s``, ``2m`` or ``500ms`` into seconds.

    Raises:
        ValueError: If it is not a time.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a time: write 60s, 2m or 500ms")
    return float(match[1]) * _UNITS[match[2]]


def complete_env(incomplete: str) -> list[str]:
    """Returns the ids of environments that begin with a text."""
    return _starting(COMPILER_GYM_ENVS, incomplete)


def complete_program(incomplete: str) -> list[str]:
    """Returns the built-in programs and the files that begin with a text."""
    from compiler_gym.envs.llvm.benchmarks.bitcode import PROGRAM_SUFFIXES
    from compiler_gym.envs.llvm.datasets.kernels_dataset import kernel_names

    parent = Path(incomplete).parent if incomplete else Path()
    files = [str(path) for path in sorted(parent.glob("*")) if path.suffix in PROGRAM_SUFFIXES]
    return _starting([*kernel_names(), *files], incomplete)


def complete_observation(incomplete: str) -> list[str]:
    """Returns the observations that begin with a text."""
    from compiler_gym.envs.llvm import specs

    return _starting([space.value for space in specs.observation_spaces], incomplete)


def complete_reward(incomplete: str) -> list[str]:
    """Returns the rewards that begin with a text."""
    from compiler_gym.envs.llvm import specs

    return _starting([space.value for space in specs.reward_spaces], incomplete)


def complete_policy(incomplete: str) -> list[str]:
    """Returns the shipped policies that begin with a text."""
    return _starting(SHIPPED, incomplete)


def _starting(names: Iterable[str], text: str) -> list[str]:
    return [name for name in names if name.startswith(text)]


PROGRAM_HELP = (
    "A C or C++ source, a .ll or .bc file, a built-in program such as sha256, or the URI of a "
    "benchmark."
)

ProgramArgument = Annotated[
    str, typer.Argument(help=PROGRAM_HELP, autocompletion=complete_program, show_default=False)
]
EnvOption = Annotated[
    str, typer.Option("--env", help="The id of an environment.", autocompletion=complete_env)
]
RewardOption = Annotated[
    str | None,
    typer.Option("--reward", help="The reward to count.", autocompletion=complete_reward),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
DropWeakOption = Annotated[
    bool,
    typer.Option(
        "--drop-weak-symbols",
        help="Allow that object files lack weak symbols, such as those of inline functions, that "
        "clang's export.",
    ),
]
ServiceOption = Annotated[
    str | None,
    typer.Option(
        "--service",
        help="The host:port of a running service to use. Files for a token and TLS follow after "
        "commas: localhost:8080,token_file=token,tls_ca_file=service.pem",
    ),
]


_SERVICE_FILES = ("token_file", "tls_ca_file", "tls_certificate_file", "tls_key_file")


def service_settings(text: str) -> tuple[str, "ConnectionOpts"]:
    """Returns the address in the value of ``--service``, and the files for its token and TLS.

    Raises:
        ValueError: If a word after the address names no such file.
        FileNotFoundError: If a file does not exist.
    """
    from compiler_gym.service.transport.connection_opts import ConnectionOpts

    address, *words = text.split(",")
    files: dict[str, Path] = {}
    for word in words:
        name, _, file = word.partition("=")
        if name not in _SERVICE_FILES or not file:
            raise ValueError(
                f"--service: expected {', '.join(_SERVICE_FILES)} with a file, got {word!r}; try "
                f"{address},token_file=FILE"
            )
        files[name] = Path(file).expanduser()
        if not files[name].is_file():
            raise FileNotFoundError(f"--service: {name}: there is no file {file}")
    return address, ConnectionOpts.model_validate(files)


def program_uri(name: str) -> str:
    """Returns the URI of a program.

    Args:
        name: A URI with or without its scheme, the path of a file, or the name of a built-in
            program.

    Raises:
        FileNotFoundError: If a file does not exist.
    """
    from compiler_gym.datasets.uri import names_benchmark, uri_of_file
    from compiler_gym.envs.llvm.benchmarks.bitcode import PROGRAM_SUFFIXES
    from compiler_gym.envs.llvm.datasets.kernels_dataset import kernel_names
    from compiler_gym.envs.llvm.datasets.llvm_datasets import uri_of_name

    if "://" in name:
        return name
    path = Path(name).expanduser()
    if path.suffix in PROGRAM_SUFFIXES and (path.is_file() or not names_benchmark(name)):
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {name}")
        return uri_of_file(path)
    if path.is_file():
        raise ValueError(
            f"{name} is not a program by its name, which has to end in "
            f"{', '.join(PROGRAM_SUFFIXES)}"
        )
    is_folder = path.is_dir() and name not in kernel_names()
    if is_folder or path.is_absolute() or name.startswith("."):
        if path.exists():
            raise ValueError(f"expected a file or the name of a program, got {name}")
        raise FileNotFoundError(f"There is no file {name}")
    return uri_of_name(name)


def program_file(name: str) -> Path | None:
    """Returns the file that a name stands for, as the user wrote it; None for other programs.

    Args:
        name: The name, as for :func:`program_uri`.

    Raises:
        FileNotFoundError: If a file does not exist.
    """
    from compiler_gym.datasets.uri import BenchmarkUri

    uri = program_uri(name)
    if not uri.startswith("file://"):
        return None
    return BenchmarkUri.from_string(uri).file() if "://" in name else Path(name).expanduser()


def program_or_dataset(datasets: "Datasets", name: str) -> str:
    """Returns the URI of a program or of a dataset.

    Args:
        datasets: The datasets.
        name: The name of a dataset, or of a program as for :func:`program_uri`.

    Raises:
        FileNotFoundError: If a file does not exist.
        LookupError: If a word is neither a dataset nor a built-in program.
    """
    from compiler_gym.datasets.uri import BenchmarkUri, names_dataset

    with suppress(LookupError, ValueError):
        if names_dataset(name):
            return datasets.dataset(name).name
    uri = program_uri(name)
    if "/" not in name and not uri.startswith("file://"):
        suite = datasets.require(BenchmarkUri.from_string(uri).dataset)
        known = [*suite.benchmark_uris()]
        if uri not in known:
            words = [each.rpartition("/")[2] for each in known]
            words += [dataset.name.rpartition("/")[2] for dataset in datasets]
            raise unknown_name("program or dataset", name, words)
    return uri


def check_outputs(inputs: Iterable[Path | None], outputs: Iterable[Path]) -> None:
    """Checks that files can be written, and that none takes the place of an input.

    Args:
        inputs: The files that are read; None for programs without one, see :func:`program_file`.
        outputs: The files to write.

    Raises:
        OSError: If an output is no ordinary file.
        typer.BadParameter: If an output is an input, is standard output, or has the path of
            another one.
    """
    taken = {os.path.realpath(each) for each in inputs if each is not None}
    for path in outputs:
        if str(path) == "-":
            raise typer.BadParameter("Files are not written to standard output: name one.")
        check_replaceable(path)
        if (real := os.path.realpath(path)) in taken:
            raise typer.BadParameter(
                f"{path} is an input or another output: choose another name for one of them."
            )
        taken.add(real)


def program_uris(
    datasets: "Datasets", names: Iterable[str], limit: int | None, part: str | None = None
) -> list[str]:
    """Returns the URIs of programs, and of those in datasets and folders, each once.

    Args:
        datasets: The datasets.
        names: The names, as for :func:`program_or_dataset`, or folders.
        limit: The most programs of each dataset or folder; None for all.
        part: The part of each dataset, such as ``"train"``; None for all programs.

    Raises:
        FileNotFoundError: If a file does not exist.
        LookupError: If a word is neither a dataset nor a built-in program.
        NotADirectoryError: If a name ends in a slash, and is no folder.
        ValueError: If a folder has no programs, or there is no such part.
    """
    from compiler_gym.datasets.uri import names_dataset, uri_of_file
    from compiler_gym.envs.llvm.datasets.folder_dataset import dataset
    from compiler_gym.envs.llvm.datasets.kernels_dataset import kernel_names

    uris: list[str] = []
    for name in names:
        if name.endswith("/") or (Path(name).is_dir() and name not in kernel_names()):
            uris += map(uri_of_file, islice(dataset(name).files(), limit))
            continue
        uri = program_or_dataset(datasets, name)
        uris += (
            islice(datasets.require(uri).benchmark_uris(part=part), limit)
            if names_dataset(uri)
            else [uri]
        )
    return [*dict.fromkeys(uris)]


def program_name(uri: object) -> str:
    """Returns the short name of a program, for tables: the opposite of :func:`program_uri`."""
    from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS

    text = str(uri)
    if text.startswith("file://"):
        name = unquote(text.rpartition("/")[2])
        return name if name.isprintable() else quote(name)
    return text.removeprefix(f"{KERNELS}/").removeprefix("benchmark://")


@contextmanager
def opened_env(id: str, service: str | None = None, **arguments: Any) -> Iterator["CompilerEnv"]:
    """Makes an environment for the duration of the context.

    Args:
        id: Its id.
        service: The service to use, as :func:`service_settings` reads it.
        **arguments: Arguments of the environment. None is ignored.

    Raises:
        Exception: Any error of :func:`compiler_gym.make`.
    """
    if service is not None:
        arguments["service"], arguments["connection_settings"] = service_settings(service)
    given = {name: value for name, value in arguments.items() if value is not None}
    with working_on(f"starting {id}"):
        env = make(id, **given)
    with env:
        yield env
