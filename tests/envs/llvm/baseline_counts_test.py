"""The instruction counts of the baselines are those of what ``opt`` makes of each program.

The instructions are counted by LLVM itself, in the properties of functions that ``opt`` prints.
"""

import re
import subprocess

import pytest

from compiler_gym.util import llvm_tools
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri

# From LLVM 23 on, the attributes of functions are what asks for small code.
OZ = ("default<Oz>",) if llvm_tools.llvm_version() < 23 else ("forceattrs", "default<O2>")
MARKS = ("-force-attribute=optsize", "-force-attribute=minsize")


def count_by_opt(program, *pipeline):
    passes = ",".join([*pipeline, "print<func-properties>"])
    marks = MARKS if "forceattrs" in pipeline else ()
    command = [llvm_tools.opt_path(), f"-passes={passes}", *marks, "-disable-output", program]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    counts = [int(count) for count in re.findall(r"^TotalInstructionCount: (\d+)$", text, re.M)]
    assert len(counts) == text.count("Printing analysis results")
    return sum(counts)


@pytest.fixture(params=SOME_KERNELS)
def program(request, env, tmp_path):
    env.reset(benchmark=kernel_uri(request.param))
    return env.write_bitcode(tmp_path / "program.bc")


def test_baselines(env, program):
    expected = {
        "IrInstructionCountO0": count_by_opt(program),
        "IrInstructionCountO3": count_by_opt(program, "default<O3>"),
        "IrInstructionCountOz": count_by_opt(program, *OZ),
    }
    assert {name: env.observation[name] for name in expected} == expected
    assert expected["IrInstructionCountOz"] < expected["IrInstructionCountO0"]
    assert env.observation["IrInstructionCount"] == expected["IrInstructionCountO0"]
