"""``compiler-gym scoreboard``: methods on sets of programs, and the mean of published tables."""

import json
import math

import pytest

from compiler_gym.cli.search_state import Game
from compiler_gym.evaluation.scoreboard import Mean, cost_after, seconds_after, standings

SOURCE = """
static int twice(int x) { int all[4] = {x, x, 1, 1}; return all[0] + all[1]; }
int sum(const int *values, int count) {
  int all = 0;
  for (int i = 0; i < count; i++) all += values[i] > 3 ? twice(values[i]) : 1;
  return all;
}
"""

SEQUENCES = """
# Of somebody else.
mem2reg instcombine simplifycfg
opt -passes='module(default<Oz>)' input.bc -o output.bc
"""


@pytest.fixture(name="sets")
def fixture_sets(environment):
    """Two sets, of two programs and of one."""
    for name in ("one/a.c", "one/b.c", "two/c.c"):
        path = environment / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SOURCE.replace("sum", f"sum_{path.stem}"))
    (environment / "theirs.txt").write_text(SEQUENCES)
    return ["one/", "two"]


def rows_in(environment):
    lines = (environment / "scoreboard" / "rows.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_methods_are_compared_and_rows_are_kept(run, environment, sets):
    words = ("--method", "theirs.txt", "--tries", "1,2,6", "--jobs", "1")
    first = run("scoreboard", *sets, *words)
    assert "Seconds for a program, by tries" in first.stdout
    assert "IR instructions saved against opt -Oz, by tries, mean of 2 sets" in first.stdout
    assert "Warning" not in first.stderr
    rows = rows_in(environment)
    assert [row["set"] for row in rows] == ["one", "one", "two"]
    for row in rows:
        assert row["opt"] == "identical" and row["tries"] == 2
        assert [at for at, _ in row["pace"]] == [1, 2]
        assert 0 < seconds_after(row, 1) <= seconds_after(row, 6) <= row["seconds"]
        assert cost_after(row, 0) == row["O0"] > cost_after(row, 1)
        assert cost_after(row, 2) == row["best"] <= row["Oz"]
    done = run("scoreboard", *sets, *words, "--method", "search", "--method", "pieces", "--json")
    assert rows_in(environment)[:3] == rows and len(rows_in(environment)) == 9
    found = {each["method"]: each for each in json.loads(done.stdout)["standings"]}
    assert {*found} == {"theirs", "search", "pieces"}
    for row in rows_in(environment):
        assert row["opt"] == "identical" and row["pace"][-1][0] == row["tries"]
        if row["method"] != "theirs":
            assert row["best"] <= min(row["Oz"], row["marked_Oz"])
    assert all(each["programs"] == 3 and not each["left_out"] for each in found.values())
    page = (environment / "scoreboard" / "index.html").read_text()
    assert "<h2>By set, against opt -Oz, after 6 tries</h2>" in page


def test_another_page_is_not_replaced(run, environment, sets):
    (environment / "index.html").write_text("mine")
    run("scoreboard", "one", "--method", "theirs.txt", "-o", ".", code=1)
    assert (environment / "index.html").read_text() == "mine"


def test_methods_and_sets_of_one_name_stay_apart(run, environment, sets):
    for name, passes in (("theirs.txt", "mem2reg"), ("two/one/theirs.txt", "sroa dce")):
        (environment / name).parent.mkdir(exist_ok=True)
        (environment / name).write_text(passes)
    (environment / "two/one/d.c").write_text(SOURCE)
    methods = ("--method", "theirs.txt", "--method", "two/one/theirs.txt")
    done = run("scoreboard", "one", "two/one", *methods, "--tries", "1", "--json")
    found = {each["method"]: each for each in json.loads(done.stdout)["standings"]}
    assert {*found} == {"theirs.txt", "two/one/theirs.txt"}
    assert all({*each["sets"]} == {"one", "two/one"} for each in found.values())


def test_a_program_that_does_not_compile_has_no_row(run, environment, sets):
    (environment / "one" / "wrong.c").write_text("int f(void) { return g; }\n")
    (environment / "former.txt").write_text("--mem2reg --prune-eh --loop-unswitch -sroa\n")
    done = run("scoreboard", *sets, "--method", "former.txt", "--json", code=1)
    result = json.loads(done.stdout)
    assert result["standings"][0]["programs"] == 3
    ((program, reason),) = result["failed"].items()
    assert program.endswith("one/wrong.c") and "use of undeclared identifier 'g'" in reason
    # Names of LLVM 10 are read, too.
    assert "simple-loop-unswitch<nontrivial" in rows_in(environment)[0]["commandline"]


# LLVM optimises it, and has no code for it on any other processor than Arm's.
WITHOUT_CODE = """
declare i32 @llvm.aarch64.neon.saddv.i32.v4i32(<4 x i32>)
define i32 @sum(<4 x i32> %values) {
  %sum = call i32 @llvm.aarch64.neon.saddv.i32.v4i32(<4 x i32> %values)
  %unused = add i32 %sum, 1
  ret i32 %sum
}
"""


def test_programs_without_code_have_instructions(run, environment, sets):
    (environment / "vector").mkdir()
    (environment / "vector" / "sum.ll").write_text(WITHOUT_CODE)
    methods = ("--method", "search", "--method", "pieces")
    done = run("scoreboard", "vector", *methods, "--tries", "6", "--json")
    for row in rows_in(environment):
        assert row["opt"] == "identical" and row["best"] < row["O0"]
        assert row["code"] is None
    assert [each["code"] for each in json.loads(done.stdout)["standings"]] == [None, None]
    done = run("search", "vector/sum.ll", "--tries", "6", "--json")
    (found,) = json.loads(done.stdout)
    assert {*found["costs"]["instructions"]} == {"O0", "Oz", "marked_Oz", "best"}
    assert not found["costs"]["bytes"] and found["opt"] == "identical"


def row_of(method="m", set="s", opt="identical", best=50, **others):
    curve = [(1, 0.1, 90), (3, 0.2, best)]
    costs = {"O0": 200, "Oz": 100, "marked_Oz": 80, "code": 30, "code_Oz": 40, "best": best}
    return {
        "method": method,
        "set": set,
        "opt": opt,
        "curve": curve,
        "tries": 3,
        "seconds": 1.0,
    } | (costs | others)


def test_means_are_of_sets():
    rows = [row_of(), row_of(best=70), row_of(set="t", best=120), row_of(opt="DIFFERENT")]
    rows += [row_of(method="worse", best=95)]
    first, second = standings(rows, [1, 3])
    assert (first.method, second.method) == ("m", "worse")
    assert (first.programs, first.left_out, first.larger) == (3, 1, 1)
    assert first.sets["s"]["Oz"] == {1: pytest.approx(0.1), 3: pytest.approx(0.4)}
    # The third program has 120 after its third try, and 90 before.
    assert first.saved["Oz"][3].value == pytest.approx((0.4 + 0.1) / 2)
    assert first.saved["marked_Oz"][1].value == pytest.approx(1 - 90 / 80)
    assert first.saved["Oz"][3].margin is None
    assert first.code.value == pytest.approx(0.25)


def test_seconds_are_those_of_the_tries_until_then():
    times = [(1, 0.1), (3, 0.4)]
    rows = [row_of(pace=times), row_of(pace=[(1, 0.3), (3, 0.6)])]
    assert [seconds_after(rows[0], tries) for tries in (0, 1, 2, 9)] == [None, 0.1, 0.1, 0.4]
    (found,) = standings(rows, [1, 3])
    assert found.pace == {1: pytest.approx(0.2), 3: pytest.approx(0.5)}
    # Earlier versions have written no times.
    (found,) = standings([*rows, row_of()], [1])
    assert found.pace == {1: None}


def test_times_are_kept_for_round_numbers_of_tries():
    game = Game("a.c")
    for _ in range(1234):
        game.count_try(0.0)
    kept = [at for at, _ in game.pace]
    assert kept[:100] == [*range(1, 101)]
    assert kept[100:] == [*range(110, 1000, 10), 1000, 1100, 1200]


def test_code_is_of_programs_that_have_it():
    rows = [row_of(), row_of(code=None), row_of(code_Oz=None), row_of(set="t", code=None)]
    (found,) = standings(rows, [1])
    assert found.programs == 4 and found.code.value == pytest.approx(0.25)


def test_nothing_is_saved_of_nothing():
    empty = row_of(O0=0, Oz=0, marked_Oz=0, best=0, code=0, code_Oz=0, curve=[])
    (found,) = standings([empty], [1])
    assert (found.saved["Oz"][1].value, found.code.value) == (0, 0)


def test_margins_are_those_of_the_usual_interval():
    numbers = [0.1, 0.2, 0.4, 0.5]
    deviation = math.sqrt(sum((each - 0.3) ** 2 for each in numbers) / 3)
    alone = Mean.of([numbers])
    assert alone.value == pytest.approx(0.3)
    assert alone.margin == pytest.approx(3.1824 * deviation / 2)
    both = Mean.of([numbers, numbers])
    assert both.margin == pytest.approx(2.4469 * deviation / 2 / math.sqrt(2))
    assert Mean.of([[1.0, 1.0], [1.0, 1.0]]).margin == 0
