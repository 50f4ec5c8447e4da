"""``compiler-gym integrate``: files that make build systems use ``compiler-gym-cc``.

The files are in the folder ``integrations``. The first comment of each says what it is, and has the
commands to run next. They name the compilers without a folder, so that they can be committed.
"""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from compiler_gym.cli.console import print_line
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import runfiles_path

_FOLDER = "compiler_gym/cli/integrations"

# The first comment of a file, and its lines with commands.
_HEAD = re.compile(r"\A(#.*\n)+")
_COMMAND = re.compile(r"^#   (.*)$", re.MULTILINE)

_NOT_SUPPORTED = 2


@dataclass(frozen=True)
class Integration:
    """A build system, or another program that runs compilers.

    Attributes:
        summary: A sentence for the list.
        file: The name of the file to copy; empty if the program is not supported.
        refusal: The reason that it is not supported.
    """

    summary: str
    file: str = ""
    refusal: str = ""

    @property
    def text(self) -> str:
        """The text of the file."""
        return runfiles_path(f"{_FOLDER}/{self.file}").read_text(encoding="utf-8")

    @property
    def commands(self) -> list[str]:
        """The commands to run next: the indented lines of the first comment of the file."""
        head = _HEAD.match(self.text)
        return _COMMAND.findall(head[0]) if head else []


INTEGRATIONS = {
    "cmake": Integration("A toolchain file for CMake.", "compiler_gym.cmake"),
    "meson": Integration("A native file for Meson.", "compiler_gym-native.ini"),
    "meson-cross": Integration("A cross file for Meson, for 64-bit Arm.", "compiler_gym-cross.ini"),
    "make": Integration("A fragment for makefiles of GNU Make.", "compiler_gym.mk"),
    "bazel": Integration("A configuration for the .bazelrc of Bazel.", "compiler_gym.bazelrc"),
    "ccache": Integration("A launcher with ccache in front.", "compiler_gym-ccache"),
    "sccache": Integration("A launcher with sccache in front.", "compiler_gym-sccache"),
    "cargo": Integration(
        "Not supported: rustc compiles with an LLVM of its own.",
        refusal="Of the same bitcode, rustc and clang make different object files.",
    ),
    "distcc": Integration(
        "Not supported: other machines have other settings.",
        refusal="Other machines compile without the settings of the build. Use ccache or sccache.",
    ),
}
"""The integrations by name, in the order of the list."""


def _checked(name: str | None) -> str | None:
    if name is not None and name not in INTEGRATIONS:
        raise typer.BadParameter(str(unknown_name("integration", name, INTEGRATIONS)))
    return name


def _complete(incomplete: str) -> list[str]:
    return [name for name in INTEGRATIONS if name.startswith(incomplete)]


def integrate(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A build system, or another program that runs compilers. Without a name, lists "
            "all.",
            callback=_checked,
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "--output",
            exists=True,
            file_okay=False,
            help="The folder of the project, by default the current one.",
            show_default=False,
        ),
    ] = Path(),
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that differs from the new one.")
    ] = False,
    prints: Annotated[
        bool, typer.Option("--print", help="Print the file, and write nothing.")
    ] = False,
    lists: Annotated[bool, typer.Option("--list", help="List the names.")] = False,
) -> None:
    """Make a build system use compiler-gym-cc.

    Writes a file into the folder of a project, and prints the commands to run next there. The file
    can be committed, since it names the compilers without their folder.

    The exit code is 1 if there is another file of this name, and 2 if the program is unknown or not
    supported.

    \b
    Examples:
      compiler-gym integrate
      compiler-gym integrate cmake
      compiler-gym integrate meson --output ../project
      compiler-gym integrate make --print
    """  # noqa: D301
    if name is None or lists:
        width = max(map(len, INTEGRATIONS))
        for each, integration in INTEGRATIONS.items():
            print_line(f"{each.ljust(width)}  {integration.summary}")
        return
    integration = INTEGRATIONS[name]
    if integration.refusal:
        print(f"compiler-gym integrate: {name} is not supported.", file=sys.stderr)
        print(integration.refusal, file=sys.stderr)
        raise typer.Exit(_NOT_SUPPORTED)
    if prints:
        print(integration.text, end="")
        return
    state = _write(folder / integration.file, integration.text, force)
    place = "" if folder.resolve() == Path.cwd() else f", in {folder}"
    print_line(f"{state}. Next{place}:")
    for command in (*_commands_for_path(), *integration.commands):
        print_line(f"  {command}")


def _write(path: Path, text: str, force: bool) -> str:
    """Writes a file, unless it is there. Returns a clause about it.

    Raises:
        FileExistsError: If there is another file of this name, which must not be replaced.
    """
    if path.exists():
        if path.read_bytes() == text.encode():
            return f"{path} is up to date"
        if not force:
            raise FileExistsError(
                f"{path} exists, and differs from the file of this version; --force replaces it"
            )
    permissions = 0o777 if text.startswith("#!") else 0o666
    with atomic_file_write(path, fileobj=True, mode="w", permissions=permissions) as file:
        file.write(text)
    return f"Wrote {path}"


def _commands_for_path() -> list[str]:
    """Returns the command that makes the shell find the compilers of this installation."""
    from compiler_gym.cli.project_build import compilers

    own = Path(compilers()["CC"])
    found = shutil.which(own.name)
    if found and Path(found).resolve() == own.resolve():
        return []
    return [f'export PATH={quote(str(own.parent))}:"$PATH"']
