from compiler_gym.spaces import Commandline, CommandlineFlag


def space() -> Commandline:
    return Commandline(
        [
            CommandlineFlag("a", "-a", "First"),
            CommandlineFlag("b", "-b", "Second", "--with 'x y'"),
            CommandlineFlag("nothing", "", "Does nothing"),
        ],
        name="letters",
        prefix="run",
        suffix="end",
    )


def test_a_macro_stands_for_several():
    macros = space().with_macros({"ab": ["a", 1], "twice": ["ab", "ab"]}, {"ab": "Both"})
    assert macros.n == 5
    assert macros.names == ["a", "b", "nothing", "ab", "twice"]
    assert macros["ab"] == 3
    assert macros.expansions == {3: (0, 1), 4: (0, 1, 0, 1)}
    assert macros.to_string([0, 3]) == "run --with 'x y' -a -a -b end"
    assert macros.to_string(4) == macros.to_string([0, 1, 0, 1])
    assert macros.descriptions[3] == "Both"
    assert macros.descriptions[4] == "Macro of a, b, a, b"
    assert macros.name == "letters"
    assert (macros.prefix, macros.suffix) == ("run", "end")


def test_the_space_itself_is_as_before():
    original = space()
    macros = original.with_macros({"ab": ["a", "b"]})
    assert original == space()
    assert original.expansions == {}
    assert macros != original
    assert macros == space().with_macros({"ab": ["a", "b"]})
