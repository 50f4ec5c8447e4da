"""``compiler-gym observe``: observations of a program."""

import platform
from typing import Annotated, Any

import typer

from compiler_gym.cli.console import messages, print_json, print_line, working_on
from compiler_gym.cli.options import (
    EnvOption,
    JsonOption,
    ProgramArgument,
    ServiceOption,
    complete_observation,
    opened_env,
    program_uri,
)
from compiler_gym.errors import ServiceError


def observe(
    program: ProgramArgument,
    observations: Annotated[
        list[str],
        typer.Argument(
            help="Names of observations, see compiler-gym describe llvm-v0 observations.",
            autocompletion=complete_observation,
            show_default=False,
        ),
    ],
    after: Annotated[
        str, typer.Option(help="Passes to apply first: sroa,gvn or a command line of opt.")
    ] = "",
    env: EnvOption = "llvm-v0",
    service: ServiceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute observations of a program.

    \b
    Examples:
      compiler-gym observe program.c IrInstructionCount IrInstructionCountOz
      compiler-gym observe program.c Ir --after 'sroa,instcombine' > program.ll
      compiler-gym observe sha256 AutophaseDict --json
    """  # noqa: D301
    with opened_env(env, service) as opened:
        specs = [opened.observation.spec(name) for name in observations]
        with working_on(f"compiling {program}"):
            opened.reset(benchmark=program_uri(program))
            if after:
                opened.multistep(opened.commandline_to_actions(after))
        with working_on(f"computing {', '.join(observations)}"):
            values = opened.observation.observe(observations)
        if any(spec.platform_dependent for spec in specs):
            _tell_of_other_target(opened, program)
        if as_json:
            print_json(dict(zip(observations, values, strict=True)))
            return
        for spec, value in zip(specs, values, strict=True):
            text = spec.to_string(value).rstrip("\n")
            if len(specs) == 1:
                print_line(text)
            else:
                print_line(f"{spec.id}:\n{text}" if "\n" in text else f"{spec.id}: {text}")


def _tell_of_other_target(env: Any, program: str) -> None:
    """Names the target if the code that is measured is not that of this kind of machine."""
    try:
        triple = env.send_param("llvm.get_target_triple", "")
    except (ValueError, ServiceError):
        return  # Another compiler than LLVM.
    if triple and (triple.split("-")[0] != platform.machine() or "linux" not in triple):
        messages().print(f"{program} is for {triple}, and so is the code that is measured")
