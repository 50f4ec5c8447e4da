"""The stack that functions use."""

import subprocess
from collections import Counter
from dataclasses import replace

import pytest

from compiler_gym.tuning.changes.targets import TARGETS
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.tuning.size.object_file import stack_use
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import shipped_ranking
from compiler_gym.tuning.size.stack import (
    STACK_OPTIONS,
    Broken,
    Stack,
    broken_promises,
    read_stack,
    without_outlined,
)

SOURCE = """
void use(char *);
void small(void) { char room[100]; use(room); }
void large(void) { char room[1000]; use(room); }
"""


def test_the_largest_frame_and_all(compilation, tmp_path):
    compilation.source.write_text(SOURCE)
    use = stack_use(compilation, NO_CHANGE)
    assert use.function == "large"
    assert 1000 <= use.largest < 1100 and use.largest + 100 <= use.total < use.largest + 200
    odd = compilation.source.rename(tmp_path / "a\nb\t1\x85\t:c.c")
    assert stack_use(replace(compilation, source=odd), NO_CHANGE) == use
    # Changes count, and names are those of symbols.
    path = tmp_path / "source.cc"
    text = SOURCE.replace("void use", "void large(void);\nvoid use")
    path.write_text(text.replace("use(room); }", "use(room); large(); }", 1))
    of_cxx = replace(compilation, source=path)
    inlined = stack_use(of_cxx, Change().decide({0: True}))
    assert inlined.function == "_Z5smallv" and inlined.largest > use.largest


def test_no_functions_and_broken_sources(compilation):
    compilation.source.write_text("int value = 3;\n")
    assert stack_use(compilation, NO_CHANGE) is None
    compilation.source.write_text("int value = ;\n")
    assert stack_use(compilation, NO_CHANGE) is None
    assert stack_use(replace(compilation, options=("-nonsense",)), NO_CHANGE) is None


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
    # Without e, the largest frame is that of f then.
    for larger, broken in (("", [{"f"}]), ("; void e(void) { char a[400]; g(a); }", [])):
        texts = (text % word + larger for word in ("noinline", "always_inline"))
        kept, inlined = (stack_of(compilation, tmp_path, each) for each in texts)
        assert inlined.frames["f"] > kept.frames["f"] + 100
        assert broken_promises(inlined, kept) == []
        assert [each.functions for each in broken_promises(kept, inlined)] == broken


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


# Code that is large enough for LLVM to outline it, with a call or a jump.
_BLOCK = "p[0] = n * 77; p[1] = n ^ 345; p[2] = n | 9; p[3] = n - 543; p[4] = n * 99; "


def outlining_stack(compilation, tmp_path, target, text):
    options = (*TARGETS[target].options, "-Oz", "-fno-pic")
    return stack_of(replace(compilation, options=options), tmp_path, text)


@pytest.mark.parametrize("target", ["aarch64", "thumb", "riscv32"])
def test_outlined_code_is_part_of_the_functions_that_enter_it(compilation, tmp_path, target):
    text = "void g(int); " + "".join(
        f"void f{k}(int *p, int n) {{ {_BLOCK} g({k}); {_BLOCK} }}" for k in range(4)
    )
    found = outlining_stack(compilation, tmp_path, target, text)
    assert b"OUTLINED_FUNCTION_0" in (tmp_path / "stack.o").read_bytes()
    assert {*found.calls} == {*found.jumps} == {*found.frames} == {f"f{k}" for k in range(4)}
    assert found.calls["f2"] == {"g": 1} and not any(found.jumps.values())


@pytest.mark.parametrize("target", ["aarch64", "thumb"])
def test_numbers_of_outlined_code_mean_nothing(compilation, tmp_path, target):
    def text(f, h):
        functions = "".join(
            f"void {name}{k}(int *p, int n) {{ {body} p[9] = {k}; }}"
            for name, body in (("f", f), ("h", h))
            for k in range(4)
        )
        return (
            "void g(char *); __attribute__((noinline)) static void deep(int n) { char a[900]; "
            f"g(a); a[n] = 1; g(a); }} void e(int); {functions}"
        )

    # The same name is that of code above a small frame, and then above a large one.
    texts = (text(_BLOCK + "e(n);", "deep(n);"), text("e(n);", _BLOCK + "deep(n);"))
    before, after = (outlining_stack(compilation, tmp_path, target, each) for each in texts)
    assert broken_promises(before, after) == broken_promises(after, before) == []


def test_jumps_in_outlined_code_count():
    def stack(calls, jumps):
        edges = [{name: Counter(each) for name, each in it.items()} for it in (calls, jumps)]
        every = {name: Counter() for name in ("f", "OUTLINED_FUNCTION_1")}
        return without_outlined(Stack({"f": 8}, every | edges[0], every | edges[1], 8))

    jumping = stack({}, {"f": ["OUTLINED_FUNCTION_1"], "OUTLINED_FUNCTION_1": ["g"]})
    calling = stack({"f": ["OUTLINED_FUNCTION_1"]}, {"OUTLINED_FUNCTION_1": ["g"]})
    assert jumping == stack({}, {"f": ["g"]})
    assert calling.calls == {"f": {"g": 1}} and calling.frames == {"f": 16}
    assert "f calls g, to which it jumped" in [
        each.why for each in broken_promises(jumping, calling)
    ]


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
