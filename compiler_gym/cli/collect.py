"""``compiler-gym collect``: bitcode of a program with its own build system."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.console import print_line, working_on
from compiler_gym.cli.options import check_outputs


def collect(
    program: Annotated[
        Path,
        typer.Argument(
            help="The program that the build makes, relative to --folder.", show_default=False
        ),
    ],
    command: Annotated[list[str], typer.Argument(help="The build, after --.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The bitcode file; by default PROGRAM.bc, here."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where to build.")] = Path(),
    timeout: Annotated[float, typer.Option(min=0.001, help="Time limit in seconds.")] = 3600,
) -> None:
    """Build a program and collect its bitcode.

    The build must use the compilers in the environment variables CC and CXX, and compile everything
    again. The result is one unoptimised module of everything linked into the program. Needs
    wllvm: pip install 'compiler_gym[build]'.

    \b
    Examples:
      compiler-gym collect src/lua --folder lua-5.4 -- make linux
      compiler-gym collect prog -- 'make clean; make CC="$CC"'
      compiler-gym collect build/app -- 'cmake -B build && cmake --build build'
    """  # noqa: D301
    from compiler_gym.envs.llvm.benchmarks.command_line_benchmark import collect_bitcode

    text = command[0] if len(command) == 1 else shlex.join(command)
    bitcode = output or Path(f"{program.name}.bc")
    check_outputs([folder / program], [bitcode])
    with working_on(f"building {program}: {text}"):
        collect_bitcode(text, program, bitcode, folder, timeout)
    print_line(
        f"{bitcode} is {program}, unoptimised: compiler-gym search {shlex.quote(str(bitcode))}"
    )
