"""Changes of the portfolio in code that is linked in several ways, on two machines."""

import os
import signal
from collections import Counter
from dataclasses import replace

import pytest

from compiler_gym.tuning.size.compilation import Change, is_setting
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.ranking import (
    experimental_options,
    function_adjustments,
    shipped_portfolio,
)
from compiler_gym.tuning.speed.optimizer import parts as speed_parts
from compiler_gym.util.commands import run_command
from compiler_gym.util.runfiles_path import runfiles_path
from tests.tuning.size.codegen_trials import main, make_case
from tests.tuning.size.generated_programs import SPECIAL_CONTENTS, GeneratedProgram, generate
from tests.tuning.size.trial import (
    AARCH64,
    INTERPOSED,
    LAZY,
    LTO,
    LTO_SHARED,
    NOW,
    STATIC,
    TARGETS,
    WAYS,
    X86_64,
    Trial,
    portfolio_changes,
)
from tests.tuning.size.trial_totals import Totals

COUNTS = "tests/tuning/size/codegen/trial_counts.json"
DOCUMENT = "docs/guides/code-size-safety.md"

# Fourteen values live where a call finds its function for the first time.
_LIBRARY = """
__attribute__((noinline)) long put(long x) { return x * 3 + 1; }
long fill(const long *p) {
  long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
  long i = p[8], j = p[9], k = p[10], l = p[11], m = p[12], n = p[13];
  long sum = put(a);
  sum += put(b ^ sum);
  sum += put(c + sum);
  return sum + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
         11 * k + 12 * l + 13 * m + 14 * n;
}
"""
_IPRA = Change(("-enable-ipra",))


def one_source(library, function, call, **more):
    """Returns a program that prints what a call of its library returns."""
    caller = (
        f'#include <stdio.h>\n{function};\nint main(void) {{ printf("%ld\\n", (long){call}); }}\n'
    )
    return GeneratedProgram({"library.c": library}, {"main.c": caller}, modes=("plain",), **more)


_VALUES = ", ".join(map(str, range(14)))
_LIVE = one_source(_LIBRARY, "long fill(const long *)", f"fill((long[]){{{_VALUES}}})")


def entries(_):
    return [each.change for each in shipped_portfolio(with_experimental=True)]


def failures(program, target, way, folder, choose):
    trial = Trial(program, target, way, folder)
    found = trial.failures(choose, trial.expected())
    assert trial.runs and not trial.left_out
    return found


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_change_clobbers_values_live_across_a_lazy_call(target, tmp_path):
    changes = [*portfolio_changes(), *speed_parts()]
    assert failures(_LIVE, target, LAZY, tmp_path, lambda _: changes) == []


def test_programs_that_clang_alone_does_not_link_are_left_out(tmp_path):
    # As LLD refuses some programs with split stacks, whatever is changed.
    refused = replace(STATIC, link=(*STATIC.link, "-Wl,--no-such-option"))
    trial = Trial(_LIVE, X86_64, refused, tmp_path)
    with pytest.raises(AssertionError, match="clang alone does not link it"):
        trial.failures(lambda _: [], "")


@pytest.mark.parametrize(
    ("target", "way"),
    [(X86_64, LAZY), (AARCH64, LAZY), (AARCH64, NOW)],
    ids=lambda each: each.name,
)
def test_a_clobbering_change_is_found(target, way, tmp_path):
    found = failures(_LIVE, target, way, tmp_path, lambda _: [Change(("-disable-lsr",)), _IPRA])
    assert [each.change for each in found] == [_IPRA]


@pytest.mark.parametrize(
    ("body", "is_endless"),
    [("usleep(1500000);", False), ("for (volatile int i = 0; ; i = i) {}", True)],
)
def test_the_processor_time_of_a_program_is_limited(body, is_endless, tmp_path, monkeypatch):
    # A paused trial, or one on a busy machine, is not wrong.
    monkeypatch.setattr("tests.tuning.size.trial._RUN_CPU_SECONDS", 1)
    library = f"#include <unistd.h>\nlong last(void) {{ {body} return 7; }}\n"
    trial = Trial(one_source(library, "long last(void)", "last()"), X86_64, STATIC, tmp_path)
    if is_endless:
        with pytest.raises(AssertionError, match="may have no end"):
            trial.expected()
    else:
        assert trial.expected() == "7\n"


@pytest.mark.parametrize("is_sanitized", [False, True])
def test_failures_under_a_sanitizer_that_clang_has_at_another_level_are_its_own(
    is_sanitized, tmp_path
):
    # It prints whether calls are inlined, which clang does at -O2.
    library = """
    #define STEP v = v * 31 ^ v >> (v & 3); v += x ^ v + 3; v ^= v * x;
    static int same(const char *of_caller, unsigned x) {
      volatile unsigned v = x;
      STEP STEP STEP
      return 2 * ((const char *)__builtin_return_address(0) == of_caller) + (v == 0x12345678);
    }
    int one(int x) { return same(__builtin_return_address(0), x) * 3; }
    int two(int x) { return same(__builtin_return_address(0), x + 1) * 3; }
    int both(int x) { return one(x) + two(x); }
    """
    options = ["-fsanitize=undefined", "-fsanitize-trap=undefined"] if is_sanitized else []
    program = one_source(library, "int both(int)", "both(1)")
    trial = Trial(program, X86_64, STATIC, tmp_path, ["-Oz", *options])
    found = trial.failures(decide_every_call([]), "0\n")
    assert [each.got for each in found] == ([] if is_sanitized else ["12\n"])
    assert ("plain at -O3" in trial.left_out) == is_sanitized and "plain" not in trial.left_out


@pytest.mark.parametrize("way", [STATIC, LAZY, INTERPOSED], ids=lambda way: way.name)
def test_generated_programs(way, tmp_path):
    plain = generate(WAYS.index(way), without=[SPECIAL_CONTENTS])
    program = replace(plain, modes=("plain",))
    assert failures(program, X86_64, way, tmp_path, entries) == []


def test_a_generated_program_for_aarch64(tmp_path):
    plain = generate(3, AARCH64.name, without=[SPECIAL_CONTENTS])
    program = replace(plain, modes=("plain", "alarm", "backtrace"))
    assert failures(program, AARCH64, LAZY, tmp_path, lambda _: entries(_)[:2]) == []


def test_unwinding_from_every_instruction(tmp_path):
    program = generate(4, without=[SPECIAL_CONTENTS])
    # Those that throw spend most of their instructions in other libraries.
    functions = program.caller["functions.h"].splitlines(keepends=True)
    called = "".join(line for line in functions if "(x" not in line)
    program = replace(program, caller={**program.caller, "functions.h": called}, modes=("step",))
    assert failures(program, X86_64, LAZY, tmp_path, lambda _: entries(_)[:2]) == []


def test_assembly_that_overwrites_the_frame_pointer_is_tried(tmp_path):
    # Only the stack pointer leads to its variables: it is wrong with a frame pointer.
    library = """
    long mix(long a, long b) {
      volatile long v[16];
      for (int i = 0; i < 16; i++) v[i] = a * i ^ b;
      long out;
      __asm__ volatile("movq $7, %%rbp; addq %1, %%rbp; movq %%rbp, %0"
                       : "=r"(out) : "m"(v[3]) : "rbp", "cc");
      return v[14] + v[3] * out;
    }
    """
    found = {}
    for option in ("-fwrapv", "-fno-omit-frame-pointer"):
        folder = tmp_path / option
        folder.mkdir()
        program = one_source(library, "long mix(long, long)", "mix(2, 4)")
        trial = Trial(program, X86_64, STATIC, folder, ["-Oz", option])
        change = Change((), (), (), ((0, ("frame-pointer=all", "-disable-lsr")),))
        assert trial.failures(lambda _, it=change: [it], trial.expected()) == []
        found[option] = trial.left_out
    # The plugin ignores the change; clang's own option shows that it would be wrong.
    assert found == {"-fwrapv": [], "-fno-omit-frame-pointer": ["plain"]}


def test_what_breaks_the_stack_promise_is_taken_back(tmp_path):
    library = "long sum(long n, long x) { return n ? sum(n - 1, x * 3 + n) : x; }\n"
    program = one_source(library, "long sum(long, long)", "sum(600000, 1)")
    trial = Trial(program, X86_64, STATIC, tmp_path, ["-Oz", "-fwrapv"])
    change = Change(("-opt-bisect-limit=0",))
    assert trial.failures(lambda _: [change], trial.expected()) == []
    assert (trial.left_out, trial.taken_back) == ([], 1)


@pytest.mark.parametrize(
    ("target", "mode", "code"),
    [
        (X86_64, "step", "subq $8, %rsp; movq %rdi, %rax; addq $8, %rsp; retq"),
        (X86_64, "backtrace", "subq $24, %rsp; call back; addq $24, %rsp; retq"),
        (AARCH64, "backtrace", "stp x29, x30, [sp, -32]!; bl back; ldp x29, x30, [sp], 32; ret"),
    ],
    ids=["step", "x86_64", "aarch64"],
)
def test_wrong_tables_are_found(target, mode, code, tmp_path):
    # The table is that of a function that does not move the stack pointer.
    library = f"""
    typedef unsigned long long u64;
    __thread int unused;
    extern __thread u64 tls_of_main;
    u64 moves(u64);
    __asm__(".text; moves: .cfi_startproc; {code}; .cfi_endproc");
    u64 f0(u64 x) {{ return moves(x) + tls_of_main; }}
    """
    caller = {**generate(0, target.name).caller, "functions.h": "FUNCTION(f0)\n"}
    program = GeneratedProgram({"library.c": library}, caller, modes=("plain", mode))
    trial = Trial(program, target, STATIC, tmp_path)
    assert trial.failures(lambda _: [], trial.expected()) == []
    assert trial.left_out == [mode]


_INTERPOSABLE = """
__attribute__((weak)) long weak(long x) { return x + 1; }
long shown(long x) { return x + 2; }
__attribute__((visibility("hidden"))) long hidden(long x) { return x + 3; }
static long local(long x) { return x + 4; }
long all(long x) { return weak(x) * 3 + shown(x) * 5 + hidden(x) * 7 + local(x) * 11; }
"""


def decide_every_call(offered):
    """Inlines all calls that are offered, and then none."""

    def choose(evaluator):
        sites = list_call_sites(evaluator)
        offered.extend(site.callee for site in sites)
        return [Change().decide({site.index: way for site in sites}) for way in (True, False)]

    return choose


def test_functions_that_another_library_replaces_are_not_inlined(tmp_path):
    override = {"override.c": "long weak(long x) { return 50; } long shown(long x) { return 60; }"}
    program = one_source(_INTERPOSABLE, "long all(long)", "all(9)", override=override)
    offered = []
    trial = Trial(program, X86_64, INTERPOSED, tmp_path)
    expected = trial.expected()
    assert expected == f"{50 * 3 + 60 * 5 + 12 * 7 + 13 * 11}\n"
    assert trial.failures(decide_every_call(offered), expected) == []
    assert sorted(offered) == ["hidden", "local"]


def test_inline_functions_without_another_definition_stay_inlined(tmp_path):
    # It links at -Oz, and not at -O0.
    library = """
    inline long elsewhere(long x) { return x + 5; }
    static long local(long x) { return x + 4; }
    long all(long x) { return elsewhere(x) * 3 + local(x) * 5; }
    """
    offered = []
    trial = Trial(one_source(library, "long all(long)", "all(9)"), X86_64, LAZY, tmp_path)
    assert trial.failures(decide_every_call(offered), f"{14 * 3 + 13 * 5}\n") == []
    assert offered == ["local"] and not trial.left_out


def test_the_audit_names_every_change():
    text = runfiles_path(DOCUMENT).read_text(encoding="utf-8")
    audit = text.partition("## Options and their trials")[2].partition("### Trials")[0]
    for change in portfolio_changes():
        for option in change.options:
            assert f"`{option}`" in audit or f"`{option.partition('=')[0]}=N`" in audit
        for each in change.passes:
            assert f"`{each}`" in audit
    for each in filter(is_setting, function_adjustments()):
        assert f"`{each}`" in audit
    for change in speed_parts():
        assert all(f"`{option}`" in audit for option in experimental_options(change))


@pytest.mark.parametrize("way", [LTO, LTO_SHARED], ids=lambda way: way.name)
def test_link_time_optimisation(way, tmp_path):
    found = failures(_LIVE, X86_64, way, tmp_path, lambda _: [Change(("-disable-lsr",)), _IPRA])
    # Both halves of a program are known to the linker: the option is wrong for the PLT alone.
    assert {each.change for each in found} <= {_IPRA}


def test_options_are_left_out_beside_special_functions_with_lto_too(tmp_path):
    other = 'void special(void) { __asm__("nop"); }\n'
    program = replace(_LIVE, library={**_LIVE.library, "other.c": other})
    trial = Trial(program, X86_64, LTO, tmp_path)
    assert trial.failures(lambda _: [Change(("-disable-lsr",))], trial.expected()) == []
    assert trial.tried == [] and trial.builds == 0


def test_a_seed_is_a_program():
    assert generate(7) == generate(7) != generate(8)
    assert generate(7).library == generate(7, "aarch64").library
    assert make_case(11) == make_case(11)


def test_input_of_a_kernel_that_is_not_text():
    case = make_case(1536)
    assert case.kind == "kernels-v0"
    assert "\ufffd" in case.program.input


@pytest.fixture
def repository(tmp_path):
    """A repository with the published counts and their document."""
    for path in (DOCUMENT, COUNTS):
        copy = tmp_path / "repository" / path
        copy.parent.mkdir(parents=True)
        copy.write_bytes(runfiles_path(path).read_bytes())
    return tmp_path / "repository"


@pytest.fixture
def publish(repository, tmp_path):
    """Publishes a state file, without further trials."""
    state = ("--state", str(tmp_path / "state.json"))
    return lambda: main(["--hours", "0", *state, "--publish", str(repository)])


def test_counts_of_the_published_trials_are_those_of_the_document(publish, repository):
    paths = [repository / DOCUMENT, repository / COUNTS]
    before = [path.read_text(encoding="utf-8") for path in paths]
    totals = Totals.read(paths[1])
    assert publish() == (1 if totals.wrong or totals.unbuilt else 0)
    assert before == [path.read_text(encoding="utf-8") for path in paths]
    (row,) = (line for line in before[0].splitlines() if line.startswith("| `-disable-lsr` |"))
    counts = [totals.uses[f"{name} -disable-lsr"] for name in ("x86_64", "aarch64")]
    assert row.endswith(f" | {counts[0]} | {counts[1]} |") and min(counts) > 30


def test_trials_are_added_to_the_published_ones(publish, repository, tmp_path, capsys):
    published = Totals.read(repository / COUNTS)
    state = replace(published, next_seed=published.next_seed + 1)
    state.add(Totals(options=Counter({"aarch64 -g": 3}), wrong=[published.next_seed]))
    state.write(tmp_path / "state.json")
    assert publish() == 1
    assert Totals.read(repository / COUNTS) == state
    assert f"next seed {state.next_seed}." in capsys.readouterr().out
    text = (repository / DOCUMENT).read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith("| `-g` |"))
    assert row.endswith(f" {state.options['aarch64 -g']} |") and f"So far: {state}" in text
    # Those would be lost.
    published.write(tmp_path / "state.json")
    assert publish() == 2
    assert Totals.read(repository / COUNTS) == state


def test_ctrl_c_loses_only_the_program_that_is_tried(tmp_path, monkeypatch, capsys):
    state = tmp_path / "state.json"
    before = Totals(next_seed=5)
    before.write(state)

    def expected(_):
        os.kill(os.getpid(), signal.SIGINT)
        run_command(["sleep", "1000"])

    monkeypatch.setattr(Trial, "expected", expected)
    assert main(["--state", str(state)]) == 130
    assert "goes on with" in capsys.readouterr().err
    assert Totals.read(state) == before
