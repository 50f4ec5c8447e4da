"""Units of a build, as clang alone has compiled them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.cli.kept_objects import digest_of
from compiler_gym.cli.lock_file import Key
from compiler_gym.cli.project_build import compilers
from compiler_gym.cli.wrapper_command import without_outputs
from compiler_gym.cli.wrapper_settings import RECORD
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.tuning.size.trial_linking import LinkError, trial_linker

_VARIABLES = {"clang": "CC", "clang++": "CXX"}


@dataclass(frozen=True)
class Compiled:
    """A compiled unit of a build.

    Attributes:
        key: Its key in a lock file.
        command: The command that compiles it.
        folder: The working directory of the command.
        environment: Its environment variables, which a makefile may have set.
        output: The object file.
        code: Bytes of code with clang alone.
        loaded: Loaded bytes with clang alone.
        shared: The signatures of its groups that other object files may have, too.
        seconds: The processor time of clang alone.
        digest: A digest of the object file by clang alone.
    """

    key: Key
    command: list[str]
    folder: Path
    environment: dict[str, str]
    output: Path
    code: int
    loaded: int
    shared: frozenset[str]
    seconds: float
    digest: str

    def sizes(self) -> tuple[int, int]:
        """Returns the bytes of code and all loaded bytes of the object file as it is now."""
        found, loaded = _read(self.output, self.command)
        return found.text, loaded


def compiled_unit(note: dict[str, Any], output: Path) -> Compiled:
    """Returns the unit of a note of ``compiler-gym-cc``, whose object file is now at ``output``."""
    words = note["words"]
    if output != Path(note["output"]):
        words = [*without_outputs(words), "-o", str(output)]
    found, loaded = _read(output, words)
    compiler = compilers()[_VARIABLES[note["driver"]]]
    source, options = note["key"]
    # The build that set these has ended.
    environment = {**note["environment"], "MAKEFLAGS": "", RECORD: ""}
    return Compiled(
        key=(source, options),
        command=[compiler, *words],
        folder=Path(note["folder"]),
        environment=environment,
        output=output,
        code=found.text,
        loaded=loaded,
        shared=frozenset(found.shared),
        seconds=note["seconds"],
        digest=digest_of(output),
    )


def _read(path: Path, words: Sequence[str]) -> tuple[ObjectFile, int]:
    """Returns an object file, and its loaded bytes.

    Args:
        path: The object file.
        words: The arguments of clang.
    """
    made, trial = read_object(path), trial_linker(words)
    try:
        return made, trial.size(path).loaded if trial else made.all
    except LinkError:
        return made, made.all
