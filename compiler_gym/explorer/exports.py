"""States in forms for other programs."""

import io

from compiler_gym.compiler_env_state import CompilerEnvState, CompilerEnvStateWriter
from compiler_gym.explorer import messages
from compiler_gym.explorer.workbench import Workbench


def export(bench: Workbench, state: messages.State) -> messages.Export:
    """Returns the opt command line of a state, Python code that makes it, and a line of CSV.

    Raises:
        ExplorerError: If there is no such state.
    """
    program = bench.program(state.program)
    with bench.fork(state.program, state.actions) as env:
        commandline = env.commandline()
        uri = str(env.benchmark)
        saved = CompilerEnvState(benchmark=uri, commandline=commandline, walltime=0)
        space = bench.space_of(state.actions)
    table = io.StringIO()
    writer = CompilerEnvStateWriter(table)
    writer.write_state(saved)
    source = program.message.source
    return messages.Export(
        commandline=commandline, csv=table.getvalue(), python=_python(uri, space, state, source)
    )


def _python(uri: str, space: str, state: messages.State, source: messages.Source | None) -> str:
    lines = ["import compiler_gym"]
    benchmark = repr(uri)
    if source is not None:
        lines += [
            "from compiler_gym.envs.llvm import make_benchmark_from_source",
            "",
            f"benchmark = make_benchmark_from_source({source.text!r},",
            f"    {source.flags.split()!r}, lang={source.language!r})",
        ]
        benchmark = "benchmark"
    lines += [
        "",
        f'with compiler_gym.make("llvm-v0", action_space="{space}") as env:',
        f"    env.reset(benchmark={benchmark})",
        f"    for name in {[*state.actions]!r}:",
        "        env.step(env.action_space[name])",
        '    print(env.observation["IrInstructionCount"])',
        "",
    ]
    return "\n".join(lines)
