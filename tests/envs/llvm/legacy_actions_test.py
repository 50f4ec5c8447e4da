import subprocess

import pytest

from compiler_gym.compat.legacy_actions import LEGACY_ACTIONS
from compiler_gym.util import llvm_tools

EMPTY_PROGRAM = "define i32 @main() {\n  ret i32 0\n}\n"


def test_original_order():
    names = list(LEGACY_ACTIONS)
    assert len(names) == 124
    known = {0: "add-discriminators", 39: "gvn", 53: "instcombine", 103: "mem2reg", 111: "sroa"}
    assert {index: names[index] for index in known} == known
    assert names[-1] == "mergereturn"


def test_only_three_are_gone():
    assert {name for name, pipeline in LEGACY_ACTIONS.items() if pipeline is None} == {
        "barrier",
        "loop-reroll",
        "prune-eh",
    }


@pytest.mark.parametrize("pipeline", sorted({p for p in LEGACY_ACTIONS.values() if p}))
def test_opt_accepts(pipeline):
    subprocess.run(
        [llvm_tools.opt_path(), f"-passes=module({pipeline})", "-disable-output"],
        input=EMPTY_PROGRAM,
        text=True,
        check=True,
        timeout=250,
    )
