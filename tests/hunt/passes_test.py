"""Tests of the selection and sampling of passes to hunt."""

import random
from collections import Counter

import pytest

from compiler_gym.hunt.passes import (
    NOT_HUNTED,
    Pass,
    Sequences,
    list_passes,
    parse_sequence,
    usable_passes,
    why_not_hunted,
)
from compiler_gym.util import llvm_tools


def test_passes_are_those_that_opt_lists(fake_opt):
    passes = {each.name: each.texts for each in list_passes(fake_opt)}
    assert passes["globaldce"] == ("globaldce",)
    assert passes["gvn"] == ("function(gvn)", "function(gvn<no-pre>)", "function(gvn<pre>)")
    assert passes["unrolling"][1] == "function(unrolling<count=1>)"
    assert "domtree" not in passes and "view-callgraph" not in passes


def test_passes_that_opt_refuses_are_left_out(fake_opt):
    usable = {each.name: each.texts for each in usable_passes(list_passes(fake_opt), fake_opt, 2)}
    assert "crashing" in usable and "refusing" not in usable
    assert "unrolling" not in usable
    assert usable["gvn"] == ("function(gvn)", "function(gvn<no-pre>)", "function(gvn<pre>)")


def test_a_pass_that_hangs_is_hunted(tmp_path, monkeypatch):
    monkeypatch.setattr("compiler_gym.hunt.passes._CHECK_SECONDS", 1)
    opt = tmp_path / "opt"
    opt.write_text('#!/bin/sh\n[ "$1" = --version ] || exec sleep 600\n')
    opt.chmod(0o755)
    passes = [Pass("hanging", ("function(hanging)",))]
    assert usable_passes(passes, opt, 1) == passes


def test_passes_of_this_llvm_are_nested_as_they_must_be():
    texts = {each.name: each.texts[0] for each in list_passes(llvm_tools.opt_path())}
    assert texts["licm"] == "function(loop-mssa(licm))"
    assert texts["loop-rotate"] == "function(loop(loop-rotate))"
    assert texts["inline"] == "cgscc(inline)"
    assert texts["instcombine"] == "function(instcombine<no-verify-fixpoint>)"
    assert texts["globalopt"] == "globalopt"
    (instcombine,) = (
        each for each in list_passes(llvm_tools.opt_path()) if each.name == "instcombine"
    )
    assert "function(instcombine<no-verify-fixpoint;max-iterations=1>)" in instcombine.texts
    assert not any("<verify-fixpoint" in text for text in instcombine.texts)
    assert len(texts) > 150
    assert not {"print", "asan", "internalize", "default"} & texts.keys()


def test_each_pass_is_left_out_for_one_reason():
    patterns = [pattern for each in NOT_HUNTED.values() for pattern in each]
    assert len(patterns) == len(set(patterns))
    assert why_not_hunted("dot-cfg") and why_not_hunted("sroa") is None


def test_texts_of_passes_are_understood():
    passes = [
        Pass("gvn", ("function(gvn)", "function(gvn<no-pre>)")),
        Pass("licm", ("function(loop-mssa(licm))",)),
    ]
    expected = ["function(gvn<no-pre>)", "function(loop-mssa(licm))", "globaldce"]
    assert parse_sequence("gvn<no-pre>,licm,globaldce", passes) == expected
    assert parse_sequence(f"module({','.join(expected)})", passes) == expected
    with pytest.raises(ValueError, match="no passes"):
        parse_sequence("module()", passes)


def test_sequences_are_as_long_as_asked_and_follow_those_that_are_kept():
    passes = [Pass(name, (f"function({name})",)) for name in "abc"]
    rng = random.Random(0)
    sequences = Sequences(passes, length=5, guided=0)
    assert {len(sequences.draw(rng, {})) for _ in range(200)} == {5}
    guided = Sequences(passes, length=5, guided=1)
    guided.keep(["function(x)", "function(y)"], rng)
    drawn = [guided.draw(rng, {}) for _ in range(200)]
    assert all("function(x)" in each for each in drawn)
    assert any("function(a)" in each for each in drawn)
    assert all(len(each) == 5 for each in drawn)


def test_guilty_passes_are_drawn_less():
    passes = [Pass(name, (name,)) for name in "ab"]
    sequences = Sequences(passes, length=1, guided=0)
    rng = random.Random(0)
    counts = Counter(sequences.draw(rng, {"a": 9})[0] for _ in range(1000))
    assert 50 < counts["a"] < 150


def test_no_more_sequences_are_kept_than_there_is_room_for():
    sequences = Sequences([Pass("a", ("a",))], length=1, guided=1)
    rng = random.Random(0)
    for number in range(200):
        sequences.keep([str(number)], rng)
    assert len(sequences.kept) == Sequences.MAX_KEPT
    assert ["199"] in sequences.kept
