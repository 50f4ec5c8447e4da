"""Command lines of gcc."""

import pytest

from compiler_gym.third_party.gccinvocation.gccinvocation import GccInvocation, cmdline_to_argv

COMMAND = (
    "/usr/bin/gcc -c -pthread -O2 -DNDEBUG -D_GNU_SOURCE -D SIZE=3 -I. -IInclude -I ./Include "
    "-isystem lib -o a.o a.c"
)


def test_parts():
    invocation = GccInvocation(COMMAND.split())
    assert invocation.argv == COMMAND.split()
    assert invocation.executable == "/usr/bin/gcc"
    assert invocation.progname == "gcc"
    assert invocation.sources == ["a.c"]
    assert invocation.defines == ["NDEBUG", "_GNU_SOURCE", "SIZE=3"]
    assert invocation.includepaths == [".", "Include", "./Include"]
    assert invocation.otherargs == ["-c", "-pthread", "-O2", "-isystem", "lib", "-o", "a.o"]


def test_cmdline_to_argv():
    assert cmdline_to_argv("gcc '-DA=\"a b\"' a.c") == ["gcc", '-DA="a b"', "a.c"]
    with pytest.raises(ValueError):
        cmdline_to_argv("gcc 'a.c")


def test_from_cmdline():
    invocation = GccInvocation.from_cmdline("g++ '-DTEXT=\"a b\"' 'my file.cpp' other.cc")
    assert invocation.defines == ['TEXT="a b"']
    assert invocation.sources == ["my file.cpp", "other.cc"]
    assert invocation.otherargs == []


@pytest.mark.parametrize(
    "words",
    [
        ["-include", "config.c"],
        ["-x", "c"],
        ["-MF", "deps.d"],
        ["-Wp,-MD,x.d"],
        ["-fplugin=./python.so"],
        ["-lm"],
        ["object.o"],
        ["-"],
        ["@response"],
    ],
)
def test_other_words(words):
    invocation = GccInvocation(["gcc", *words, "a.c"])
    assert invocation.otherargs == words
    assert invocation.sources == ["a.c"]


def test_without_sources():
    assert GccInvocation(["gcc", "--version"]).sources == []
    assert GccInvocation(["gcc"]).otherargs == []


def test_restrict_to_one_source():
    invocation = GccInvocation.from_cmdline("gcc -O2 -DX -Iinc a.c b.c -lm")
    restricted = invocation.restrict_to_one_source("b.c")
    assert restricted.argv == ["gcc", "-DX", "-Iinc", "-O2", "-lm", "b.c"]
    assert restricted.sources == ["b.c"]
    assert (restricted.defines, restricted.includepaths) == (["X"], ["inc"])
    assert invocation.sources == ["a.c", "b.c"]


def test_restrict_to_another_source():
    with pytest.raises(ValueError, match=r"c\.c"):
        GccInvocation(["gcc", "a.c"]).restrict_to_one_source("c.c")


@pytest.mark.parametrize("word", ["-D", "-I", "-o", "-x"])
def test_missing_value(word):
    with pytest.raises(ValueError, match=word):
        GccInvocation(["gcc", "a.c", word])


def test_empty():
    with pytest.raises(ValueError):
        GccInvocation([])
    with pytest.raises(ValueError):
        GccInvocation.from_cmdline("gcc 'a.c")
