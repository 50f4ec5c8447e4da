import copy
import pickle

import pytest

from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline, short_name
from compiler_gym.spaces import CommandlineFlag, NamedDiscrete, UnknownNameError

NAMES = [
    "function(sroa)",
    "function(sroa<preserve-cfg>)",
    "function(loop-mssa(licm))",
    "function(loop(simple-loop-unswitch<nontrivial>))",
    "globaldce",
    "function(instcombine<no-verify-fixpoint>)",
    "function(early-cse<memssa>)",
    "cgscc(function-attrs)",
    "cgscc(inline)",
    "function(dce)",
]


def pickle_copy(value):
    return pickle.loads(pickle.dumps(value))


@pytest.fixture
def space():
    return LlvmCommandline([CommandlineFlag(name, name) for name in NAMES], name="PassesAll")


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("function(sroa)", "function(sroa)"),
        ("sroa", "function(sroa)"),
        ("-sroa", "function(sroa)"),
        ("--sroa", "function(sroa)"),
        (" sroa ", "function(sroa)"),
        ("sroa<preserve-cfg>", "function(sroa<preserve-cfg>)"),
        ("licm", "function(loop-mssa(licm))"),
        ("loop-mssa(licm)", "function(loop-mssa(licm))"),
        ("-globaldce", "globaldce"),
        ("instcombine", "function(instcombine<no-verify-fixpoint>)"),
        ("early-cse", "function(early-cse<memssa>)"),
        ("-early-cse-memssa", "function(early-cse<memssa>)"),
        ("-functionattrs", "cgscc(function-attrs)"),
        ("-loop-unswitch", "function(loop(simple-loop-unswitch<nontrivial>))"),
        ("-die", "function(dce)"),
    ],
)
def test_names(space, name, action):
    assert space[name] == NAMES.index(action)


def test_plain_action_is_not_hidden_by_a_parameterised_one():
    names = ["function(sroa<preserve-cfg>)", "function(sroa)"]
    space = LlvmCommandline([CommandlineFlag(name, name) for name in names])
    assert space["sroa"] == 1


def test_short_names(space):
    assert [short_name(space, name) for name in NAMES] == [
        *("sroa", "sroa<preserve-cfg>", "licm", "simple-loop-unswitch", "globaldce", "instcombine"),
        *("early-cse", "function-attrs", "inline", "dce"),
    ]
    assert short_name(NamedDiscrete(NAMES), NAMES[0]) == NAMES[0]
    with pytest.raises(UnknownNameError):
        short_name(space, "no-such-pass")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sorra", "Did you mean sroa"),
        (
            "-newgvn",
            "is 'function\\(newgvn\\)' today, which the space 'PassesAll' does not offer: "
            '.*action_space="Legacy124"',
        ),
        ("-barrier", 'has no counterpart in today\'s LLVM: .*action_space="Legacy124"'),
        ("", "is not in the space"),
    ],
)
def test_unknown_names(space, name, message):
    with pytest.raises(UnknownNameError, match=message):
        space[name]


@pytest.mark.parametrize("number", [3, None])
def test_what_is_no_name(space, number):
    with pytest.raises(TypeError, match=f"name of an action, got {number}"):
        space[number]


@pytest.mark.parametrize("copied", [lambda value: value, copy.deepcopy, pickle_copy])
def test_lists_find_names_of_former_releases(space, copied):
    space = copied(space)
    for names in (space.flags, space.names):
        assert names == NAMES and isinstance(names, list)
        assert names.index("globaldce") == 4
        assert names.index("-sroa") == names.index("function(sroa)") == 0
        assert names.index("-functionattrs") == 7
        assert "-functionattrs" in names and "-newgvn" not in names and None not in names
        with pytest.raises(ValueError, match=r"-newgvn.*action_space=\"Legacy124\""):
            names.index("-newgvn")
        with pytest.raises(ValueError, match="Did you mean"):
            names.index("-srao")
        with pytest.raises(ValueError):
            names.index("-sroa", 1)  # As for lists: the first item does not count.
        assert names.index("globaldce", 2, 5) == 4
        assert copied(names).index("-sroa") == 0
    assert space.with_items(space.items, "other").flags.index("-sroa") == 0
    assert space.with_macros({"all": ["sroa", "dce"]}).names.index("all") == len(NAMES)


def test_to_string(space):
    assert space.to_string([0, 8]) == (
        "opt -discard-value-names -passes='module(function(sroa),cgscc(inline))' "
        "input.bc -o output.bc"
    )
    assert space.to_string(0) == space.to_string([0])
    assert space.to_string([]) == "opt -discard-value-names input.bc -o output.bc"
    assert space.commandline([4], textformat=True) == (
        "opt -passes='module(globaldce)' input.ll -S -o output.ll"
    )


@pytest.mark.parametrize("textformat", [False, True])
@pytest.mark.parametrize("values", [[], [0], list(range(len(NAMES))), [2, 2, 0, 2]])
def test_round_trip(space, values, textformat):
    assert space.from_string(space.to_string(values, textformat)) == values


@pytest.mark.parametrize(
    "text",
    [
        "/usr/lib/llvm-22/bin/opt -passes='module(function(sroa),globaldce)' a.bc -o b.bc",
        "opt-22 in.ll --passes 'function(sroa), globaldce' -S -o=out.ll",
        "opt -p=module(function(sroa),globaldce)",
        "-passes=function(sroa),globaldce",
        "module(function(sroa),globaldce)",
        "function(sroa),globaldce",
        "sroa,globaldce",
        "sroa globaldce",
        "opt -sroa -globaldce input.bc -o output.bc",
        "-sroa -globaldce",
        "opt program -sroa -globaldce -o -",
        "opt -sroa -passes=globaldce",
    ],
)
def test_from_string(space, text):
    assert space.from_string(text) == [NAMES.index("function(sroa)"), NAMES.index("globaldce")]
    assert space.from_commandline(text) == space.from_string(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opt -passes='module(function(sroa)", "Malformed command line"),
        ("opt -passes='module(function(sroa)' a.bc", "Missing '\\)'"),
        ("opt -passes=early-cse<memssa", "Missing '>'"),
        ("opt -passes=sroa,globaldce)", "Unexpected '\\)' at position 14"),
        ("opt -passes=sroa<(>)", "Unexpected '>'"),
        ("opt -passes=sroa,,globaldce", "Empty element"),
        ("opt -passes=sroa,", "Empty element"),
        ("opt -passes", "ends after -passes"),
        ("opt -sroa a.bc -o", "ends after -o"),
        ("opt -passes=dce -passes=sroa a.bc", "More than one -passes="),
        ("opt a.bc b.bc", "Unexpected 'b.bc'"),
        ("opt -sorra a.bc", "Did you mean"),
        ("opt -O3 a.bc", "'-O3' is not in the space"),
        ("opt -passes=function(sroa,dce) a.bc", "'function\\(sroa,dce\\)' is not in the space"),
        ("gcc -sroa", "'gcc' is not in the space"),
    ],
)
def test_from_malformed_string(space, text, message):
    with pytest.raises(ValueError, match=message):
        space.from_string(text)
