"""The commands of clang."""

from dataclasses import replace
from pathlib import Path

import pytest

from compiler_gym.tuning.size.compilation import (
    Change,
    Compilation,
    change_as_json,
    change_from_json,
    check_options,
)

CLANG = Path("/bin/clang")


def test_commands_of_a_source():
    compilation = Compilation(CLANG, Path("a.c"), ("-g", "-DX", "-include", "b.h", "-xc"))
    words = ["/bin/clang", "-Oz", "-g", "-DX", "-include", "b.h", "-xc"]
    assert compilation.command(Path("a.o")) == [*words, "-c", "a.c", "-o", "a.o"]
    assert replace(compilation, options=("-Os", "-g", "-O")).level == "-O"
    unit = compilation.unit_command(Path("u.bc"))
    assert unit[:-3] == [*words, "-c", "a.c", "-o", "u.bc"]
    assert unit[-3:] == ["-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    # What is about the source would be misunderstood.
    quiet = "-Wno-unused-command-line-argument"
    assert compilation.command_of_unit(Path("u.bc"), Path("a.o")) == [
        *["/bin/clang", "-Oz", "-g", "-DX", quiet],
        *["-c", "u.bc", "-o", "a.o"],
    ]


def test_arguments_of_changes():
    assert Change().arguments(None) == []
    assert Change(("-a", "-b=1")).arguments(None) == ["-mllvm", "-a", "-mllvm", "-b=1"]
    assert Change(profile="/a.profdata").arguments(None) == ["-fprofile-use=/a.profdata"]
    change = Change(("-a",)).plus("p<q>").decide({7: False}).decide({3: True, 7: True})
    assert change == Change(("-a",), ("p<q>",), ((3, True), (7, True)))
    change = change.decide({7: False}).adjust({2: ("gvn",), 0: ("licm",)}).adjust({2: ("dse",)})
    assert change.adjust({2: ("gvn",)}) == change
    change = change.hint({4: ("unroll.count:2",), 1: ("unroll.disable",)})
    assert change.hint({4: (), 1: ("vectorize.disable",)}).loops == ((1, ("vectorize.disable",)),)
    # The passes of a policy change what has a number.
    numbered = "p<q>,set-call-sites<3=inline;7=noinline>,set-functions<0=licm;2=dse+gvn>"
    loops = "set-loops<1=unroll.disable;4=unroll.count:2>"
    assert replace(change, sequence=("function(sroa)", "ipsccp")).arguments(Path("/p.so")) == [
        *["-mllvm", "-a", "-Xclang", "-load", "-Xclang", "/p.so", "-fpass-plugin=/p.so"],
        *["-mllvm", f"-first-passes={numbered},{loops},function(sroa),ipsccp"],
    ]


def test_settings_of_functions_replace_those_of_the_same_name():
    change = Change(("-a=1", "-b")).adjust({0: ("-a=2", "x=1")}).adjust({0: ("x=2",)})
    assert change.functions == ((0, ("-a=2", "x=2")),)
    # An option of the whole program is one of all functions where some set it otherwise.
    words = change.arguments(Path("/p.so"))
    assert words[:2] == ["-mllvm", "-b"] and "-a=1" not in words
    assert words[-1] == "-first-passes=set-functions<*=-a=1;0=-a=2+x=2>"


def test_adjustments_can_be_taken_away():
    change = Change().adjust({0: ("gvn", "x=1"), 1: ("licm",)})
    toggled = change.toggle({0: ("gvn", "dse"), 1: ("licm",), 2: ("-a=1",)})
    assert toggled.functions == ((0, ("dse", "x=1")), (2, ("-a=1",)))
    assert toggled.toggle({0: ("gvn", "dse"), 1: ("licm",), 2: ("-a=1",)}) == change


def test_changes_as_json():
    change = Change(("-a",), ("p",), ((1, True),), ((2, ("dse", "gvn")),), ("ipsccp",))
    change = replace(change.hint({3: ("unroll.count:2", "vectorize.disable")}), profile="/p")
    facts = change_as_json(change)
    assert facts["loops"] == ["3=unroll.count:2+vectorize.disable"] and facts["profile"] == ["/p"]
    assert change_from_json(facts) == change
    assert change_as_json(Change()) == {} and change_from_json({}) == Change()
    # Older lock files have another name for adjustments.
    adjusted = Change().adjust({3: ("gvn", "x=1")})
    assert change_from_json({"skipped": ["3=gvn+x=1"]}) == adjusted
    assert change_from_json(change_as_json(adjusted)) == adjusted


@pytest.mark.parametrize("option", ["-S", "-E", "-o", "-emit-llvm", "-flto", "-flto=thin", "-MD"])
def test_options_that_have_no_place(option):
    with pytest.raises(ValueError, match=f"{option} "):
        check_options(["-g", option])


@pytest.mark.parametrize("name", ["-enable-pre", "-enable-scalar-pre"])
def test_options_have_the_names_that_clang_knows(tmp_path, name):
    clang = tmp_path / "clang"
    clang.write_text(f'#!/bin/sh\n[ "$2" = {name}=0 ]\n')
    clang.chmod(0o755)
    option, other = "-enable-pre=0", "-enable-load-pre=0"
    change = Change((option, other)).adjust({2: (other, "gvn"), 3: (other,)})
    compilation = Compilation(clang, Path("a.c"), plugin=Path("/p.so"))
    *_, first = words = compilation.command(Path("a.o"), change)[:-4]
    assert f"{name}=0" in words
    assert first == f"-first-passes=set-functions<*={other};2={other}+gvn;3={other}>"
    command = compilation.command(Path("a.o"), Change((option, other)))
    assert command[2:-4] == ["-mllvm", f"{name}=0", "-mllvm", other]
