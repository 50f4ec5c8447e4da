"""The stack that functions use."""

from dataclasses import replace

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.object_file import StackUse, stack_use

SOURCE = """
void use(char *);
void small(void) { char room[100]; use(room); }
void large(void) { char room[1000]; use(room); }
"""


def test_the_largest_frame_and_all(compilation):
    compilation.source.write_text(SOURCE)
    use = stack_use(compilation, NO_CHANGE)
    assert use.function == "large"
    assert 1000 <= use.largest < 1100 and use.largest + 100 <= use.total < use.largest + 200


def test_changes_count(compilation):
    compilation.source.write_text(SOURCE.replace("void use", "void large(void);\nvoid use"))
    one_inlined = compilation.source.read_text().replace("use(room); }", "use(room); large(); }", 1)
    compilation.source.write_text(one_inlined)
    before = stack_use(compilation, NO_CHANGE)
    after = stack_use(compilation, Change().decide({0: True}))
    assert after.largest > before.largest and after.function == "small"


def test_no_functions_and_broken_sources(compilation):
    compilation.source.write_text("int value = 3;\n")
    assert stack_use(compilation, NO_CHANGE) is None
    compilation.source.write_text("int value = ;\n")
    assert stack_use(compilation, NO_CHANGE) is None
    assert stack_use(replace(compilation, options=("-nonsense",)), NO_CHANGE) is None


def test_names_of_cxx(compilation, tmp_path):
    path = tmp_path / "source.cc"
    path.write_text("struct A { static int f(int); };\nint A::f(int x) { return x * 3; }\n")
    assert stack_use(replace(compilation, source=path), NO_CHANGE) == StackUse(0, "_ZN1A1fEi", 0)
