import pytest

from compiler_gym.envs.gcc.options import (
    LARGEST,
    GccFlagAlignOption,
    GccFlagEnumOption,
    GccFlagIntOption,
    GccFlagOption,
    GccOOption,
    GccParamEnumOption,
    GccParamIntOption,
    actions_of,
    option_from_json,
)
from compiler_gym.envs.gcc.spec import parse_optimizers, parse_params
from tests.envs.gcc.compilers import GCC_12_DESCRIBED_PARAMS, GCC_12_OPTIMIZERS, GCC_12_PARAMS

OPTIONS = [
    GccOOption("-O", ("0", "1", "2", "3", "fast", "s")),
    GccFlagOption("-fgcse"),
    GccFlagOption("-fstack-protector-all", no_fno=True),
    GccFlagEnumOption("-fira-region", ("=one", "=all")),
    GccFlagIntOption("-flifetime-dse", 0, 2, 2),
    GccFlagAlignOption("-falign-loops", ("=1", "=2")),
    GccParamEnumOption("--param=parloops-schedule", ("=static",)),
    GccParamIntOption("--param=max-unroll-times", 0, LARGEST, 8),
]


def test_options_of_gcc_12():
    assert list(parse_optimizers(GCC_12_OPTIMIZERS, "")) == [
        GccOOption("-O", ("0", "1", "2", "3", "fast", "s")),
        GccFlagOption("-falign-loops"),
        GccFlagAlignOption("-falign-loops", tuple(f"={2**i}" for i in range(9))),
        GccFlagOption("-fgcse"),
        GccFlagEnumOption("-fira-region", ("=one", "=all", "=mixed")),
        GccFlagIntOption("-flifetime-dse", 0, 2, 2),
        GccFlagIntOption("-fpack-struct", 0, LARGEST),
        GccFlagOption("-fstack-protector-all"),
        GccFlagOption("-fvanished"),
    ]

    assert list(parse_params(GCC_12_PARAMS, GCC_12_DESCRIBED_PARAMS)) == [
        GccParamIntOption("--param=align-threshold", 1, 65536, 100),
        GccParamIntOption("--param=asan-stack", 0, 1, 1),
        GccParamIntOption("--param=max-unroll-times", 0, LARGEST, 8),
        GccParamEnumOption("--param=parloops-schedule", ("=static", "=dynamic")),
        GccParamEnumOption("--param=ranger-debug", ("=none", "=trace", "=all")),
    ]


def test_option_that_is_listed_with_both_values():
    """GCC 14 does that, and the two would be the same action."""
    listed = "  -fc  [disabled]\n  -fno-c  [enabled]\n  -fno-other  [enabled]\n"
    assert list(parse_optimizers(listed, "")) == [
        GccFlagOption("-fc"),
        GccFlagOption("-fno-other"),
    ]


@pytest.mark.parametrize("option", OPTIONS, ids=str)
def test_values(option):
    last = len(option) - 1
    for value in {0, last}:
        assert option.find(option[value]) == value
    for value in (-1, last + 1):
        with pytest.raises(IndexError, match=f"0 to {last}, not {value}"):
            option[value]
    assert option.find("-fother") is None
    assert option_from_json(option.to_json()) == option


def test_texts():
    first = ["-O0", "-fgcse", "-fstack-protector-all", "-fira-region=one", "-flifetime-dse=0"]
    first += ["-falign-loops=1", "--param=parloops-schedule=static", "--param=max-unroll-times=0"]
    assert [option[0] for option in OPTIONS] == first
    assert OPTIONS[1][1] == "-fno-gcse"
    assert OPTIONS[7].find("--param=max-unroll-times=12") == 12
    assert OPTIONS[7].find(f"--param=max-unroll-times={LARGEST + 1}") is None
    assert OPTIONS[4].find("-flifetime-dse=two") is None


def sized(size: int) -> GccParamIntOption:
    return GccParamIntOption("--param=x", 1, size)


@pytest.mark.parametrize(
    ("size", "names"),
    [
        (2, ["=1", "=2"]),
        (9, [f"={number}" for number in range(1, 10)]),
        (10, ["[+1]", "[-1]"]),
        (49, ["[+1]", "[-1]"]),
        (50, ["[+1]", "[-1]", "[+10]", "[-10]"]),
        (500, ["[+1]", "[-1]", "[+10]", "[-10]", "[+100]", "[-100]"]),
        (5000, [f"[{sign}{10**i}]" for i in range(4) for sign in "+-"]),
    ],
)
def test_actions(size, names):
    assert [action.name for action in actions_of([sized(size)])] == [f"--param=x{n}" for n in names]


def test_steps_stay_between_absence_and_the_last_value():
    option = sized(60)
    plus_1, minus_1, plus_10, minus_10 = actions_of([option])
    assert plus_1.apply([-1], [option]) == 0
    assert minus_1.apply([0], [option]) == -1
    assert plus_10.apply([55], [option]) == 59
    assert minus_10.apply([3], [option]) == -1
