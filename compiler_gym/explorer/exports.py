"""States in forms for other programs."""

import base64
import gzip
import hashlib
import io
import shlex

from compiler_gym.compiler_env_state import CompilerEnvStateWriter
from compiler_gym.explorer import messages
from compiler_gym.explorer.workbench import Workbench
from compiler_gym.util import llvm_tools


def export(bench: Workbench, state: messages.State) -> messages.Export:
    """Returns the opt command line of a state, code that makes it, and a line of CSV.

    Raises:
        ExplorerError: If there is no such state.
    """
    program = bench.program(state.program)
    with bench.fork(state.program, state.actions) as env:
        commandline = env.commandline()
        uri = str(env.benchmark)
        saved = env.state.model_copy(update={"walltime": 0.0, "reward": None})
        space = bench.space_of(state.actions)
        output = env.observation["Bitcode"].tobytes()
    (start,) = bench.observe(state.program, [], ["Bitcode"])
    table = io.StringIO()
    writer = CompilerEnvStateWriter(table)
    writer.write_state(saved)
    source = program.message.source
    return messages.Export(
        commandline=commandline,
        csv=table.getvalue(),
        python=_python(uri, space, state, source),
        script=_script(program.message.name, commandline, start.tobytes(), output),
    )


def _script(name: str, commandline: str, start: bytes, output: bytes) -> str:
    """Returns a shell script that holds a program, applies passes, and checks the result."""
    packed = base64.b64encode(gzip.compress(start, mtime=0)).decode()
    lines = [packed[i : i + 100] for i in range(0, len(packed), 100)]
    opt = commandline.removeprefix("opt ")
    title = shlex.quote(f"{name}: the program before and after these passes")
    return "\n".join(
        [
            "#!/bin/sh",
            f"# Usage: sh reproducer.sh. OPT names opt of LLVM {llvm_tools.llvm_version()}.",
            "set -eu",
            "base64 -d << 'END' | gzip -d > input.bc",
            *lines,
            "END",
            f'"${{OPT:-opt-{llvm_tools.llvm_version()}}}" {opt}',
            f"echo '{hashlib.sha256(output).hexdigest()}  output.bc' | sha256sum -c",
            f"echo {title}",
            "ls -l input.bc output.bc",
            "",
        ]
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
