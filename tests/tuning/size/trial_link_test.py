"""The bytes that a linker adds to an object file count as loaded."""

import pytest

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.trial_linking import LinkError, trial_linker
from compiler_gym.util import llvm_tools

# Calls of two functions elsewhere, and the address of a variable of its own.
SOURCE = """
int one(int), two(int);
int here;
int *where(void) { return &here; }
int both(int x) { return one(x) + two(x) * here; }
"""
PLT_ENTRY, RELOCATION, ADDRESS = 16, 24, 8


@pytest.fixture(name="made")
def fixture_made(compiled):
    """Compiles the source, by default for x86-64."""

    def made(*options, text=SOURCE):
        return compiled(text, "--target=x86_64-linux-gnu", "-fcf-protection=none", *options)

    return made


def loaded(path, *options):
    return trial_linker(options).size(path).loaded


def test_tables_of_position_independent_code_count(made):
    calls = SOURCE.replace("one(x) + two(x)", "one(x) + one(x + 1)")
    two = loaded(made("-fPIC"), "-fPIC")
    one = loaded(made("-fPIC", text=calls), "-fPIC")
    names = len("two\0") + 24  # In the tables of symbols.
    difference = read_object(made("-fPIC")).all - read_object(made("-fPIC", text=calls)).all
    table = PLT_ENTRY + ADDRESS + RELOCATION
    assert two - one - difference == pytest.approx(table + names, abs=16)


def test_programs_have_no_such_tables(made):
    path = made()
    assert read_object(path).all <= loaded(path) < loaded(made("-fPIC"), "-fPIC")


@pytest.mark.parametrize(
    "options, is_shared",
    [
        ((), False),
        (("-fPIC",), True),
        (("-fpic", "-g"), True),
        (("-fPIC", "-fPIE"), False),
        (("-fno-pic", "-fPIC"), True),
    ],
)
def test_the_last_option_decides(options, is_shared):
    assert trial_linker(options).is_shared is is_shared


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "riscv64-linux-gnu", "thumbv7m-none-eabi"])
def test_other_targets(compiled, target):
    path = compiled(SOURCE, f"--target={target}", "-fPIC")
    assert loaded(path, "-fPIC") > read_object(path).all


def test_hidden_functions_may_be_missing(made):
    """They are in another object file of the same library, and are called without a table."""
    text = '__attribute__((visibility("hidden"))) int one(int);' + SOURCE.replace("one(int), ", "")
    hidden = loaded(made("-fPIC", text=text), "-fPIC")
    assert read_object(made("-fPIC", text=text)).all < hidden
    assert hidden < loaded(made("-fPIC"), "-fPIC")


def test_an_unlinkable_file_is_an_error(tmp_path):
    path = tmp_path / "source.o"
    path.write_bytes(b"no object file")
    with pytest.raises(LinkError, match=r"source\.o"):
        loaded(path)


def test_without_a_linker_sections_count(monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    assert trial_linker(()) is None


def test_evaluations_are_linked(begin, tmp_path):
    source = tmp_path / "library.c"
    source.write_text(SOURCE)
    compilation = Compilation(
        llvm_tools.clang_path(), source, ("-fPIC",), llvm_tools.own_passes_path()
    )
    evaluator, before = begin(compilation)
    (found,) = evaluator.evaluate([Change(("-disable-lsr",))])
    assert before.loaded == loaded(before.path, "-fPIC") > before.object.all
    assert Objective.ALL.cost(found)[0] == found.loaded
    assert Objective.TEXT.cost(found) == (found.object.text, found.loaded)
