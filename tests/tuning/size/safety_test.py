"""The preconditions of decisions: functions that no search changes."""

import subprocess
from dataclasses import replace

import pytest

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.image import read_image
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.moves import functions_of
from compiler_gym.tuning.size.ranking import function_adjustments, shipped_ranking
from compiler_gym.tuning.size.safety import FRAME_POINTER, NO_LIMITS, Kind, limits_of
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import searched

# Nothing but the frame pointer tells mix() where its variables are, which the assembly overwrites.
_PRESSURE = r"""
#include <stdio.h>
%s int mix(int a, int b) {
  volatile int v[16];
  for (int i = 0; i < 16; i++) v[i] = a * i ^ b;
  int out;
  __asm__ volatile(%s);
  v[4] += v[5] + out; v[5] += v[6]; v[8] = v[4] ^ v[1]; v[14] = v[3] + v[12];
  return v[14] + v[3] + v[8] + v[5];
}
int main(int argc, char **argv) {
  (void)argv;
  printf("%%d\n", mix(argc + 2, 4));
  return 0;
}
"""
_CLOBBER = r'''
    "movl $7, %%ebp\n\taddl %1, %%ebp\n\tmovl %%ebp, %0"
    : "=r"(out) : "m"(v[3]) : "rbp", "cc"'''
_NAMED = r"""
    "push %%rbp\n\txor %%ebp, %%ebp\n\tmovl %1, %0\n\tpop %%rbp"
    : "=r"(out) : "r"(v[3])"""


def run(path, *options, limit="unlimited"):
    program = path.with_suffix(".program")
    subprocess.run([llvm_tools.clang_path(), *options, path, "-o", program], check=True)
    command = f"ulimit -s {limit}; ulimit -c 0; exec {program}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    return done.returncode, done.stdout


def adjusted(evaluator, *texts):
    """Returns an evaluation with adjustments of all functions."""
    numbers = [each.index for each in functions_of(evaluator)]
    (found,) = evaluator.evaluate([Change().adjust(dict.fromkeys(numbers, texts))])
    return found


@pytest.mark.parametrize("words", ["", "static inline", "__attribute__((noinline))"])
@pytest.mark.parametrize("statement", [_CLOBBER, _NAMED])
def test_assembly_may_use_the_frame_pointer(compilation, begin, words, statement):
    compilation.source.write_text(_PRESSURE % (words, statement))
    evaluator, baseline = begin(replace(compilation, options=("-w", "-Oz")))
    expected = run(baseline.path)
    assert expected[0] == 0
    for each in (FRAME_POINTER, "sroa", "-enable-misched=0"):
        assert run(adjusted(evaluator, each).path) == expected
    assert all(
        each.is_excluded
        for each in functions_of(evaluator)
        if each.name == "mix" or "noinline" not in words
    )


# LLVM inlines mix() into main(), although no call there names it as it is at first.
_HIDDEN_CALLS = {
    "table": "static int (*const table[])(int, int) = {mix, 0};\n#define mix(a, b) table[0](a, b)",
    "alias": 'static int same(int, int) __attribute__((alias("mix")));\n#define mix same',
    "pointer": "static int to(int f(int, int), int a) { return f(a, 4); }\n"
    "#define mix(a, b) to(mix, a)",
    "recursion": "#define mix(a, b) mix(argc, b)",
    "statement": "static int via(int a) { [[clang::always_inline]] return mix(a, 4); }\n"
    "#define mix(a, b) via(a)",
}


@pytest.mark.parametrize("way", _HIDDEN_CALLS)
def test_assembly_may_use_the_frame_pointer_where_a_call_hides_it(compilation, begin, way):
    words = "__attribute__((noinline)) static" if way == "statement" else "static"
    text = _PRESSURE.replace("int main(", f"{_HIDDEN_CALLS[way]}\nint main(") % (words, _CLOBBER)
    if way == "recursion":
        text = text.replace("  volatile", "  if (a > 99) return mix(a - 1, b);\n  volatile")
    compilation.source.write_text(text)
    evaluator, baseline = begin(replace(compilation, options=("-w", "-Oz", "-std=c23")))
    expected = run(baseline.path)
    assert expected[0] == 0
    assert run(adjusted(evaluator, FRAME_POINTER).path) == expected
    assert {each.name for each in functions_of(evaluator) if each.is_excluded} >= {"main", "mix"}


def test_assembly_of_32_bits_may_use_the_frame_pointer(compilation, begin):
    function = _PRESSURE.partition("int main")[0].replace("#include <stdio.h>", "")
    compilation.source.write_text(function % ("", _CLOBBER.replace("rbp", "ebp")))
    evaluator, baseline = begin(replace(compilation, options=("-w", "-Oz", "-m32")))
    for each in (FRAME_POINTER, "sroa", "-enable-misched=0"):
        assert adjusted(evaluator, each).object.code == baseline.object.code


_TRAITS = {
    "assembly": '__asm__("nop");',
    "label": "void *p = &&l; use(p); l: use(p);",
    "twice": "static jmp_buf b; if (setjmp(b)) use(b);",
    "dynamic": "use(__builtin_alloca(n));",
    "stack": 'register long sp __asm__("rsp"); __asm__("" : "+r"(sp)); use((void *)sp);',
    "frame": "use(__builtin_frame_address(0));",
    "call": "other(n);",
    "gone": "if (n < 0 && n > 0) wrong();",
}
_KINDS = {
    "naked": '__attribute__((naked)) void naked(void) { __asm__("ret"); }',
    "preserve": "__attribute__((preserve_all)) void preserve(void) { use(0); }",
    "split": '__attribute__((annotate("compiler_gym:keep"))) void split(void) { use(0); }',
    "patch": "__attribute__((patchable_function_entry(2))) void patch(void) { use(0); }",
}


def test_special_functions_are_recognised(compilation, begin):
    lines = [
        "#include <setjmp.h>",
        "void use(void *);",
        "__attribute__((preserve_most)) void other(int);",
        '__attribute__((error("wrong"))) void wrong(void);',
        *(f"void {name}(int n) {{ {body} }}" for name, body in _TRAITS.items()),
        *_KINDS.values(),
        "void plain(_Atomic int *p, volatile int *q, ...) { *p += *q; use(p); }",
        "__thread int t; void local(void) { t++; }",
        "_Noreturn void never(void) { use(0); for (;;); }",
        "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }",
    ]
    compilation.source.write_text("\n".join(lines))
    evaluator, baseline = begin(compilation)
    functions = functions_of(evaluator)
    excluded = {each.name for each in functions if each.is_excluded}
    assert excluded == {*_TRAITS, *_KINDS}
    assert [each.name for each in functions if each.recursive] == ["fib"]
    assert [each.name for each in functions if each.kept] == ["split"]
    # The plugin ignores what the preconditions forbid, also without a search.
    forbidden = {
        each.index: (text,)
        for each in functions
        for text in (FRAME_POINTER, "sroa")
        if not each.permits(text)
    }
    assert len(forbidden) == len(excluded) + 1
    (found,) = evaluator.evaluate([Change().adjust(forbidden)])
    assert found.object.code == baseline.object.code


@pytest.mark.parametrize("attribute", ["", '__attribute__((error("too large")))'])
def test_calls_that_have_to_go_are_gone(compilation, begin, attribute):
    compilation.source.write_text(
        f"{attribute} void nobody_defines_it(void);\n"
        "static int times(int a, int b) { if (b & 1) nobody_defines_it(); return a * b + a; }\n"
        "int main(int argc, char **argv) { return times(argc, 4) + times(argv[0][0], 6); }\n"
    )
    evaluator, _ = begin(compilation)
    calls = Change().decide({each.index: False for each in list_call_sites(evaluator)})
    if attribute:  # The plugin ignores the decision, also in one run.
        assert {each.name for each in functions_of(evaluator) if each.is_excluded} == {
            "times",
            "main",
        }
        (found,) = evaluator.evaluate([calls])
        assert "nobody_defines_it" not in found.object.needed
    else:
        assert evaluator.evaluate([calls]) == []
        assert evaluator.failed == 1


_LOOPS = r"""
#include <stdio.h>
struct node { struct node *left, *right; int value, kind; };
static struct node nodes[300000];
long eval(struct node *n, long *env) {
  switch (n->kind) {
    case 0: return n->value;
    case 1: return eval(n->left, env) + eval(n->right, env);
    case 3: eval(n->left, env); return eval(n->right, env);
    case 4: return env[n->value] = eval(n->left, env);
  }
  return 0;
}
int odd(unsigned n, int *p);
int even(unsigned n, int *p) { if (n == 0) return *p; return odd(n - 1, p); }
int odd(unsigned n, int *p) { if (n == 0) return -*p; return even(n - 1, p); }
typedef long op(struct node *, long);
op *ops[2];
long next(struct node *n, long sum) {
  return n->left ? ops[n->kind](n->left, sum + n->value) : sum;
}
int main(void) {
  static struct node one = {0, 0, 1, 0}, set = {&one, 0, 0, 4};
  int count = sizeof nodes / sizeof *nodes, x = 7;
  for (int i = 0; i < count; i++)
    nodes[i] = (struct node){&set, i + 1 < count ? &nodes[i + 1] : &one, i, 3};
  long env[1] = {0};
  eval(nodes, env);
  for (int i = 0; i < count; i++) nodes[i].left = nodes[i].right, nodes[i].kind = i & 1;
  ops[0] = ops[1] = next;
  printf("%ld %d %ld\n", env[0], even(300001, &x), next(nodes, 0));
  return 0;
}
"""


def test_recursion_that_is_a_loop_stays_one(compilation, start):
    compilation.source.write_text(_LOOPS)
    evaluator = start(compilation)
    expected = run(evaluator.evaluate_source().path, limit=128)
    assert expected[0] == 0
    for each in (*function_adjustments(), "tailcallelim", "codegenprepare"):
        assert run(adjusted(evaluator, each).path, limit=128) == expected, each
    sequences = [("skip-rest",), ("function(sroa)", "skip-rest")]
    for found in evaluator.evaluate([Change(sequence=each) for each in sequences]):
        assert run(found.path, limit=128) == expected, found.change


def test_a_search_keeps_loops(compilation, start):
    compilation.source.write_text(_LOOPS)
    search = searched(start(compilation, evaluations=24), ranking=shipped_ranking())
    assert search.size(search.best) < search.size(search.baseline)
    assert run(search.best.path, limit=128) == run(search.baseline.path)


def code_of(path, name):
    return [each.text for each in read_image(path).assembly[name]]


def test_excluded_functions_stay_as_they_are(compilation, source, start):
    keep = '__attribute__((annotate("compiler_gym:keep"))) int main'
    source.write_text(source.read_text().replace("int main", keep))
    evaluator = start(compilation, evaluations=12)
    search = searched(evaluator, ranking=shipped_ranking())
    assert search.size(search.best) < search.size(search.baseline)
    assert code_of(search.best.path, "main") == code_of(search.baseline.path, "main")
    assert not search.best.change.options and not search.wrong
    # It holds for other changes, too, such as those of a lock file.
    with evaluator.outside_budget(evaluator.budget.after(1, 1)):
        (changed,) = evaluator.evaluate([Change(("-disable-lsr",)).adjust({3: ("sroa",)})])
    assert changed.object.code == search.baseline.object.code


@pytest.mark.parametrize("kind", Kind)
def test_excluded_kinds_of_decisions(compilation, start, kind):
    limits = limits_of([], without=[kind])
    search = searched(start(replace(compilation, limits=limits), evaluations=12))
    change = search.best.change
    assert search.size(search.best) < search.size(search.baseline)
    assert change.within(limits) == change
    assert kind is not Kind.FRAME_POINTERS or FRAME_POINTER not in str(change)


def test_names_to_exclude(tmp_path):
    listed = tmp_path / "names"
    listed.write_text("# Comment\n\nns::parse\nsrc/a.c\n")
    limits = limits_of(["f"], [listed], [], 16)
    assert limits.excluded == ("f", "ns::parse", "src/a.c") and limits.max_stack_growth == 16
    assert limits.excludes(tmp_path / "src" / "a.c") and not limits.excludes(tmp_path / "a.c")
    with pytest.raises(ValueError, match="without parameters"):
        limits_of(["f(int)"])


def test_names_of_cxx_to_exclude(compilation, tmp_path, begin):
    path = tmp_path / "source.cc"
    path.write_text(
        "namespace ns { int parse(int x) { return x * 3; } }\nint other() { return 3; }"
    )
    evaluator, _ = begin(replace(compilation, source=path, limits=limits_of(["ns::parse"])))
    assert [each.kept for each in functions_of(evaluator)] == [True, False]


_FLAGS = r"""
unsigned long add(unsigned long x, unsigned long y) {
  unsigned char carry, zero;
  __asm__("addq %3, %0" : "+r"(x), "=@ccc"(carry), "=@ccz"(zero) : "r"(y));
  return x + carry + 2 * zero;
}
"""
_JUMPS = r"""
unsigned long step(unsigned long x) {
  __asm__ goto("addq $7, %0; testb $2, %b0; jne %l[odd]" : "+r"(x) : : "cc" : odd);
  return x + 3;
odd:
  return x ^ 0x56;
}
"""
_LOOP = """
int sum(const int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += x[i] * (i & 3 ? n : 7);
  return s;
}
"""


@pytest.mark.parametrize("assembly", [_FLAGS, _JUMPS, ""])
def test_options_for_all_functions_are_no_options_for_assembly(compilation, begin, assembly):
    # LLVM makes wrong code of both with options that only schedule or allocate otherwise.
    compilation.source.write_text(_LOOP + assembly)
    evaluator, plain = begin(replace(compilation, options=("-w", "-Os")))
    options = ("-disable-lsr", "-pre-RA-sched=list-burr", "-grow-region-complexity-budget=0")
    (found,) = evaluator.evaluate([Change(options)])
    assert (found.object.digest == plain.object.digest) == bool(assembly)
    assert found.change == (NO_CHANGE if assembly else Change(options))


@pytest.mark.parametrize(("target", "is_x86"), [("x86_64", True), ("riscv32", False)])
def test_other_targets_have_nothing_of_x86(compilation, start, target, is_x86):
    # clang only warns about a processor that it does not know, and then takes another one.
    compilation.source.write_text(_LOOP)
    evaluator = start(replace(compilation, options=(f"--target={target}-none-elf", "-Oz")))
    evaluator.evaluate_source()
    common = Change(("-disable-lsr",), ("function(sroa)",)).adjust({0: ["licm"]})
    of_x86 = Change(("-x86-early-ifcvt",), ("set-attribute<tune-cpu=nocona>",))
    every = replace(of_x86, options=(*of_x86.options, *common.options))
    every = every.plus(*common.passes).adjust({0: ["licm", "tune-cpu=atom", "x86-fixup-leas"]})
    assert evaluator.limited(every).within(NO_LIMITS) == (every if is_x86 else common)
