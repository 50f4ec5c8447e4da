import pytest

from compiler_gym.envs.llvm.inline_env import InlineCommandline
from compiler_gym.spaces import CommandlineFlag

NAMES = ["keep", "inline", "site-0-keep", "callee-11-inline"]


@pytest.fixture
def space():
    option = "-load-pass-plugin='/a folder/passes.so'"
    return InlineCommandline([CommandlineFlag(name, name, "", option) for name in NAMES])


def test_text(space):
    assert space.to_string([2, 3]) == (
        "opt -discard-value-names '-load-pass-plugin=/a folder/passes.so' "
        "-passes='module(inline-decisions<site-0-keep;callee-11-inline>)' input.bc -o output.bc"
    )
    assert space.to_string([]).count("passes.so") == 1
    assert space.from_string("inline-decisions<keep>") == [0]


def test_malformed_decisions(space):
    with pytest.raises(LookupError, match="site-0-kept"):
        space.from_string("inline-decisions<site-0-kept>")
    for text in ("sroa", "inline-decisions<keep>,sroa", "inline-decisions"):
        with pytest.raises(ValueError, match="as the only pass"):
            space.from_string(text)
