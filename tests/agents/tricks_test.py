"""Ways to win without work, each of which gets nothing. The table is in docs/guides/agents.md."""

import pytest

from compiler_gym.agents.limits import Limits
from compiler_gym.agents.tasks import Budget, Episode, choose_task
from compiler_gym.agents.texts import kept_symbols
from compiler_gym.agents.verify import verify
from compiler_gym.agents.workbench import Workbench

RANDOM = """\
#include <stdio.h>
#include <time.h>
int main(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  printf("%ld\\n", now.tv_nsec);
  return 0;
}
"""
GREEDY = """\
#include <stdlib.h>
int main(void) {
  char* p = malloc(8ul << 30);
  if (!p) return 1;
  for (unsigned long i = 0; i < 8ul << 30; i += 4096) p[i] = 1;
  return 0;
}
"""


PRINTS_OVERFLOW = """\
#include <limits.h>
#include <stdio.h>
static int is_less(int x) { return x < x + 1; }
int main(void) { volatile int x = INT_MAX; %s }
"""
EXPORTED = """\
int used_elsewhere(int x) { return x; }
int shared = 3;
extern int alias_of_shared __attribute__((alias("shared")));
__attribute__((weak)) int weak_function(void) { return 1; }
__attribute__((weak)) int weak_variable = 2;
static int chosen(void) { return 1; }
static int (*resolver(void))(void) { return chosen; }
int indirect_function(void) __attribute__((ifunc("resolver")));
_Thread_local int thread_local_variable = 3;
__attribute__((visibility("hidden"))) int hidden(void) { return 3; }
int tentative;
"""
SHARED_MEMORY = """\
define i32 @f(ptr %p, ptr %q) {
  %a = load volatile i32, ptr %p
  store volatile i32 1, ptr %p
  store volatile i32 2, ptr %p
  %b = atomicrmw add ptr %q, i32 1 seq_cst
  %c = cmpxchg ptr %q, i32 1, i32 2 seq_cst seq_cst
  fence seq_cst
  %d = load atomic i32, ptr %q seq_cst, align 4
  store atomic i32 3, ptr %q release, align 4
  ret i32 0
}
"""


@pytest.fixture
def verdict_of(make_bench):
    """Returns a function that gives the verdict on a program after some passes."""

    def make(source, passes=(), language="c"):
        bench = make_bench(may_run=True)
        bench.open_program(source=source, language=language)
        bench.apply_passes([*passes])
        return bench.verdict()

    return make


@pytest.fixture
def episode(compiler):
    episode = Episode(choose_task("test", 5), Budget(), compiler)
    yield episode
    episode.close()


# --------------------------------------------------------------------------------------------------
# Programs that do something else afterwards.


def test_no_pass_deletes_exported_symbols(make_bench, compiler):
    bench = make_bench()
    bench.open_program(source=EXPORTED)
    before = kept_symbols(bench.describe("ir"))
    assert len(before) == 9
    bench.apply_passes(compiler.action_space.names)
    assert kept_symbols(bench.describe("ir")) == before


def test_no_pass_deletes_accesses_to_shared_memory(make_bench, compiler):
    """Volatile and atomic ones, and fences, of which no test by one thread would notice."""
    bench = make_bench()
    bench.open_program(source=SHARED_MEMORY, language="ir")
    for name in compiler.action_space.names:
        bench.apply_passes([name])
        text = bench.describe("ir")
        assert text.count(" volatile ") == 3, name
        for access in ("atomicrmw", "cmpxchg", "fence", "load atomic", "store atomic"):
            assert text.count(access) == 1, name


def test_deleted_symbol_gets_no_reward(bench):
    """If there were such a pass."""
    env = bench._branch().env
    verdict = verify(env, frozenset({"main", "gone"}), may_run=True, seconds=1)
    assert verdict.problems == ("symbols that other modules may use are gone: gone",)
    assert not verdict.has_run


def test_endless_program_gets_no_reward(compiler):
    """C++ lets compilers delete the loop."""
    bench = Workbench(compiler, Limits(run_seconds=0.1), may_run=True)
    bench.open_program(source="int main() { int x = 1; while (x) x ^= 2; }", language="c++")
    bench.apply_passes(["sroa", "loop-rotate", "loop-deletion", "simplifycfg"])
    assert bench.verdict().problems == ("Execution timeout of the unoptimised program",)
    bench.close()


@pytest.mark.parametrize(
    "source",
    [
        "static int f(int n) { return f(n + 1); } int main(void) { f(0); return 0; }",
        "__attribute__((noreturn, noinline)) static void f(volatile int* p) { *p = 1; }\n"
        "int main(void) { volatile int x = 0; f(&x); return 0; }",
        "int main(void) { volatile int x = 3; if (x == 3) __builtin_unreachable(); return 0; }",
        '#include <stdio.h>\nint main(void) { for (;;) puts("many characters in each line"); }',
        GREEDY,
    ],
    ids=[
        *("recursion without end", "noreturn that returns", "unreachable", "output without end"),
        "exhausted memory",
    ],
)
def test_program_that_fails_without_passes_gets_no_reward(verdict_of, source):
    """Passes may make anything of it, also a tiny program that succeeds."""
    verdict = verdict_of(source, ["simplifycfg", "tailcallelim", "sroa", "adce"])
    assert verdict.problems[0].endswith("of the unoptimised program")


@pytest.mark.parametrize(
    "statement",
    [
        "return is_less(x);",
        'fprintf(stderr, "%d", is_less(x)); return 0;',
        'FILE* file = fopen("a file", "w"); fprintf(file, "%d", is_less(x)); return fclose(file);',
        'int y = x; __builtin_assume(y == 4); printf("%d", y); return 0;',
        'printf("%d", is_less(x)); return 0;',
    ],
    ids=["exit status", "stderr", "file", "assumption", "stdout"],
)
def test_all_output_is_compared(verdict_of, statement):
    source = PRINTS_OVERFLOW % statement
    assert verdict_of(source, ["sroa"]).is_right
    verdict = verdict_of(source, ["sroa", "instcombine", "inline", "instcombine", "gvn"])
    assert verdict.problems and not verdict.is_right


def test_no_state_is_kept_between_runs(verdict_of):
    """A program cannot save the right output for later."""
    source = """\
    #include <stdio.h>
    int main(void) {
      FILE* file = fopen("saved", "r");
      puts(file ? "saved" : "computed");
      return !fopen("saved", "w");
    }
    """
    assert verdict_of(source, ["sroa"]).is_right


def test_unstable_output_gets_no_reward(verdict_of):
    assert verdict_of(RANDOM).problems[0].startswith("Wrong output")


def test_broken_module_is_refused(make_bench, fails):
    source = "define i32 @f() {\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
    assert "does not compile" in fails(make_bench().open_program, source=source, language="ir")


def test_wrong_program_gets_no_reward(episode):
    """A miscompilation, which no pass is known to make: other output is expected."""
    episode.bench.apply_passes(["sroa", "instcombine", "reg2mem"])
    env = episode.bench._branch().env
    callback = env.benchmark.validation_callbacks()[1]
    run = callback.runs[0]
    object.__setattr__(callback, "runs", [run.__class__(run.stdin, run.stdin)])
    answer = episode.call("submit")
    object.__setattr__(callback, "runs", [run])
    assert answer.reward == 0 and "NOT verified: Wrong output" in answer.text


# --------------------------------------------------------------------------------------------------
# Episodes.


def test_no_other_program_in_an_episode(episode):
    for tool in ("open_program", "close", "export", "fork", "_replay", "limits"):
        assert episode.call(tool).is_error
    assert episode.task.program.endswith("sha256")


def test_worse_is_not_less_than_broken(episode):
    episode.call("apply_passes", passes=["loop-unroll"])
    assert episode.call("submit").reward == 0


def test_reward_is_given_once(episode):
    episode.call("apply_passes", passes=["sroa", "early-cse"])
    episode.call("undo", count=2)
    episode.call("apply_passes", passes=["sroa"])
    first = episode.call("submit")
    assert first.reward == pytest.approx(episode.bench.score())
    again = episode.call("apply_passes", passes=["early-cse"])
    assert again.is_error and again.reward == first.reward
    assert episode.bench.passes == ("sroa",)


# --------------------------------------------------------------------------------------------------
# Limits.


def test_endlessly_growing_program(compiler, fails):
    bench = Workbench(compiler, Limits(instructions=2_700))
    bench.open_program("sha256")
    assert "was undone" in fails(bench.apply_passes, ["reg2mem", *["inline"] * 50])
    assert bench.cost() <= 2_700
    bench.close()


def test_time_of_a_call(compiler, fails):
    bench = Workbench(compiler, Limits(call_seconds=0))
    bench.open_program("sha256")
    assert "took longer than 0 s" in fails(bench.apply_passes, ["sroa"])
    bench.close()


def test_many_passes(make_bench, fails):
    bench = make_bench()
    bench.open_program("sha256")
    assert "at most 1000 passes" in fails(bench.apply_passes, ["adce"] * 1_001)


# --------------------------------------------------------------------------------------------------
# Files.


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ('#include "/etc/passwd"', "c"),
        ("#embed </etc/passwd>", "c"),
        ('__asm__(".incbin \\"/etc/passwd\\"");', "c"),
        ('module asm ".incbin \\22/etc/passwd\\22"', "ir"),
        (
            'define void @f() {\n  call void asm sideeffect inteldialect "", ""()\n  ret void\n}',
            "ir",
        ),
        (
            'define void @f() {\n  callbr void asm "", ""() to label %a []\na:\n  ret void\n}',
            "ir",
        ),
    ],
)
def test_no_file_becomes_part_of_a_program(make_bench, fails, source, language):
    error = fails(make_bench().open_program, source=source, language=language)
    assert "expected" in error or "not allowed" in error


def test_no_file_elsewhere(make_bench, tmp_path, fails):
    outside = tmp_path / "secret.c"
    outside.write_text("int secret;")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.c").symlink_to(outside)
    bench = make_bench(root=root)
    (root / "loop.c").symlink_to("loop.c")
    for file in ("../secret.c", str(outside), "link.c", "loop.c", "a\0.c", "a\ud800.c"):
        assert "below the folder" in fails(bench.open_program, file=file)
    for name in (
        f"file://{outside}",
        f"FILE://{outside}",
        f"proto://{outside}",
        f"benchmark://file-v0{outside}",
        f"benchmark://file-v0/..{outside}",
        f"benchmark://kernels-v0/../{outside}",
        "benchmark://user-v0/source-0123456789abcdef",
    ):
        assert "expected the name of a program" in fails(bench.open_program, name)
    bench.open_program(source="int x;")
    for file in ("../out.o", str(tmp_path / "out.o"), "none/out.o"):
        fails(bench.export, "object", file)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        *("link.c", "loop.c", "root", "secret.c"),
    ]
    assert "without a folder" in fails(make_bench().open_program, file="x.c")


def test_flags_that_read_or_run(make_bench, fails):
    for flags in ("-include /etc/passwd", "-fplugin=x.so", "@/etc/passwd", "-Xclang -load"):
        assert "got" in fails(make_bench().open_program, source="int x;", flags=flags)
