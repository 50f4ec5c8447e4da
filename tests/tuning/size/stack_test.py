"""The stack that functions use."""

import subprocess
from dataclasses import replace

import pytest

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.tuning.size.object_file import StackUse, stack_use
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import shipped_ranking
from compiler_gym.tuning.size.stack import STACK_OPTIONS, Broken, broken_promises, read_stack

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


# What clang makes with one text, and another one of the same functions.
_PROMISES = {
    "f calls itself where it had a loop": (
        "int g(int), h(int); int f(int n) { return n ? n & 1 ? f(g(n)) : g(f(n / 2)) : 0; }",
        "int g(int), h(int); int f(int n) { return n ? n & 1 ? h(f(g(n))) : g(f(n / 2)) : 0; }",
    ),
    "f becomes recursive": (
        "int g(int); int f(int n) { while (n) n = g(n); return n; }",
        "int g(int); int f(int n) { return n ? g(f(g(n))) : n; }",
    ),
    "f calls g, to which it jumped": (
        "int g(int); int f(int n) { return g(n + 1); }",
        "int g(int); int f(int n) { return g(n + 1) + 1; }",
    ),
    "f calls *, to which it jumped": (
        "int (*g)(int); int f(int n) { return g(n + 1); }",
        "int (*g)(int); int f(int n) { return g(n + 1) + 1; }",
    ),
    "the frame of f has 136 bytes": (
        "void g(void *); void f(void) { char a[80]; g(a); }",
        "void g(void *); void f(void) { char a[128]; g(a); }",
    ),
    "the frame of f becomes dynamic": (
        "void g(void *); void f(int n) { char a[80]; g(a); }",
        "void g(void *); void f(int n) { char a[n]; g(a); }",
    ),
    "each call of f by itself takes 136 bytes of stack": (
        "void g(void *); void f(void) { char a[80], b[99]; g(a); f(); g(a); }"
        "void h(void) { char b[400]; g(b); }",
        "void g(void *); void f(void) { char a[128]; g(a); f(); g(a); }"
        "void h(void) { char b[400]; g(b); }",
    ),
    "the stack at calls from f has 144 bytes, 128 are permitted": (
        "void g(void *); void f(void) { char a[80]; g(a); } void h(void) { char b[400]; g(b); }",
        "void g(void *); void f(void) { char a[128]; g(a); } void h(void) { char b[400]; g(b); }",
    ),
}


def stack_of(compilation, tmp_path, text):
    compilation.source.write_text(text)
    path = tmp_path / "stack.o"
    subprocess.run([*compilation.command(path), *STACK_OPTIONS], check=True)
    return read_stack(path)


@pytest.mark.parametrize("why", _PROMISES)
def test_promises(compilation, tmp_path, why):
    before, after = (stack_of(compilation, tmp_path, text) for text in _PROMISES[why])
    assert why in [each.why for each in broken_promises(before, after)]
    assert all(each.functions == {"f"} for each in broken_promises(before, after))
    assert broken_promises(before, before) == broken_promises(after, after) == []


def test_inlining_on_the_deepest_path_keeps_the_promise(compilation, tmp_path):
    text = (
        "void g(void *); __attribute__((%s)) static int h(int n) { char a[200]; g(a); "
        "return a[n]; }"
        "int f(int n) { char a[100]; g(a); return h(n) + h(a[n]); }"
    )
    kept, inlined = (
        stack_of(compilation, tmp_path, text % word) for word in ("noinline", "always_inline")
    )
    assert inlined.frames["f"] > kept.frames["f"] + 100
    assert broken_promises(inlined, kept) == []
    # The largest frame is that of f now.
    assert [each.functions for each in broken_promises(kept, inlined)] == [{"f"}]
    larger = "; void e(void) { char a[400]; g(a); }"
    kept, inlined = (
        stack_of(compilation, tmp_path, text % word + larger)
        for word in ("noinline", "always_inline")
    )
    assert broken_promises(kept, inlined) == []


@pytest.mark.parametrize("target", ["x86_64", "aarch64", "i386", "arm", "thumbv7m", "riscv64"])
def test_calls_and_jumps_of_targets(compilation, tmp_path, target):
    text = (
        "int g(int); int (*p)(int); int f(int n) { return g(n) + p(n); }"
        "__attribute__((noinline)) static int h(int n) { return g(n) * 3; }"
        "int k(int n) { return h(n + 1); }"
        "int s(int n) { return n < 2 ? 1 : n * s(n - 1); }"
    )
    options = (f"--target={target}-none-elf", "-Oz", "-ffunction-sections", "-fno-pic")
    found = stack_of(replace(compilation, options=options), tmp_path, text)
    assert found.calls["f"] == {"g": 1, "*": 1} and found.calls["h"] == {"g": 1}
    assert found.jumps["k"] == {"h": 1} and not found.calls["k"]
    assert {*found.recursive} <= {"s"} and {*found.frames} >= {"f", "h", "k", "s"}


class _NoDecisionsAbout:
    """A promise that all decisions about a function break."""

    def __init__(self, evaluator, name):
        self.number = list_functions(evaluator)[name]
        self.calls = Inlining(evaluator, list_call_sites(evaluator)).calls_of({name})
        self.name = name

    def broken_by(self, change):
        is_broken = self.number in dict(change.functions) or {*dict(change.calls)} & self.calls
        return [Broken(frozenset([self.name]), "wrong")] if is_broken else []


def test_a_search_takes_back_what_breaks_the_promise(compilation, start):
    search = Optimizer(start(compilation, evaluations=30), ranking=shipped_ranking())
    search.start()
    search._promise = promise = _NoDecisionsAbout(search.evaluator, "fold")
    search.run()
    assert search.wrong and {each.why for each in search.wrong} == {"stack: wrong"}
    assert promise.broken_by(search.best.change) == []
    assert search.best.change.functions and search.best.change.options
    assert search.size(search.best) < 0.95 * search.size(search.baseline)
    # Where decisions about functions are not at fault, the options are taken back.
    assert search._repaired(search.best.change, {"fold"}).options == ()
