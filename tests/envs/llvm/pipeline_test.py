import pytest

from compiler_gym.envs.llvm.llvm_command_line import split_pipeline, unnest, unnested_forms


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", []),
        ("  ", []),
        ("sroa", ["sroa"]),
        ("function(sroa),cgscc(inline)", ["function(sroa)", "cgscc(inline)"]),
        ("function(sroa,dce),globaldce", ["function(sroa,dce)", "globaldce"]),
        ("function(loop(a<x;y=1>,b)) , c", ["function(loop(a<x;y=1>,b))", "c"]),
    ],
)
def test_split(text, elements):
    assert split_pipeline(text) == elements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("function(sroa", "Missing '\\)'"),
        ("gvn<no-pre", "Missing '>'"),
        ("function(sroa))", "Unexpected '\\)' at position 14"),
        ("gvn<(>)", "Unexpected '>' at position 5"),
        ("a,,b", "Empty element"),
        ("a,", "Empty element"),
        (",a", "Empty element"),
    ],
)
def test_split_malformed(text, message):
    with pytest.raises(ValueError, match=message):
        split_pipeline(text)


@pytest.mark.parametrize(
    ("element", "inner"),
    [
        ("function(sroa)", "sroa"),
        ("function<eager-inv>(sroa,dce)", "sroa,dce"),
        ("gvn<no-pre>", None),
        ("sroa", None),
        ("(sroa)", None),
        ("module()", ""),
    ],
)
def test_unnest(element, inner):
    assert unnest(element) == inner


def test_unnested_forms():
    assert list(unnested_forms("function(loop-mssa(licm))")) == ["loop-mssa(licm)", "licm"]
    assert list(unnested_forms("globaldce")) == []
    assert list(unnested_forms("function(sroa,dce)")) == []
