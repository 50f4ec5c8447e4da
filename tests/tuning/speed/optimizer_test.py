"""The search as a whole, on programs whose times are made up: no test waits for the machine."""

import subprocess

import pytest

from compiler_gym.tuning.size.compilation import NO_CHANGE
from compiler_gym.tuning.size.inputs import command_check
from compiler_gym.tuning.size.ranking import is_experimental
from compiler_gym.tuning.speed import optimizer
from compiler_gym.tuning.speed.optimizer import SpeedOptimizer
from compiler_gym.tuning.speed.profile import Loop, Profile
from compiler_gym.tuning.speed.workload import RunError, Workload


class Pretended(Workload):
    """Programs take as long as it is told, by their bytes; they are not run."""

    def __init__(self, time_of=lambda text: 0.05, wrong=()):
        self.time_of = time_of
        self.wrong = wrong
        self.runs = []
        self.checked = []
        self.limits = []

    def link(self, object_file, program):
        program.write_bytes(object_file.read_bytes())

    def check(self, program):
        self.checked.append(program.read_bytes())
        return "it is wrong" if program.read_bytes() in self.wrong else ""

    def run(self, program):
        self.runs.append(program.read_bytes())

    def limit(self, seconds):
        self.limits.append(seconds)

    def seconds(self, program):
        self.run(program)
        # No two runs take the same time.
        return self.time_of(program.read_bytes()) * (1 + 0.001 * (len(self.runs) * 7 % 11))


def of_size(data):
    """A time in seconds: larger programs are slower."""
    return len(data) / 50_000


def ended(evaluator, workload, **options):
    search = SpeedOptimizer(evaluator, workload, **options)
    search.start()
    search.run()
    return search


def searched(evaluator, workload):
    search = ended(evaluator, workload)
    search.prove()
    return search


def test_a_faster_program_is_found_and_proved(start):
    workload = Pretended(of_size)
    search = searched(start(24), workload)
    before, after = (each.program.read_bytes() for each in (search.baseline, search.best))
    assert len(after) < len(before) and search.best is search.leading
    assert search.comparison.low > 1 and search.comparison.is_significant
    assert search.comparison.speedup == pytest.approx(len(before) / len(after), rel=0.01)
    assert search.estimate == pytest.approx(len(before) / len(after), rel=0.01)
    assert search.stages[0].name == "options" and search.stages[-1].evaluations == 24
    # Nothing is timed that has not been checked.
    assert {*workload.runs} <= {*workload.checked}
    # What is not needed any more is gone.
    left = {each.program.parent for each in (search.baseline, search.best)}
    programs = {*search.baseline.program.parent.parent.glob("program-*")}
    assert left <= programs and len(programs) < 24 / 2


def test_luck_is_not_enough(start):
    """The winner of the race fails afterwards, or takes as long as the baseline."""
    search = ended(start(24), workload := Pretended(of_size))
    bad = search.leading.program.read_bytes()
    assert search.leading is not search.baseline

    def seconds(program):
        if program.read_bytes() == bad:  # A copy.
            raise RunError("exit code 1")
        return 0.05

    usual, workload.seconds = workload.seconds, seconds
    search.prove()
    assert search.best is search.baseline and search.comparison is None
    assert "it failed in one of many runs" in [each.why for each in search.wrong]
    workload.seconds, workload.time_of = usual, lambda data: 0.05
    search.prove()
    assert search.best is search.baseline
    assert search.comparison.low <= 1
    assert len(search.seconds[0]) == len(search.seconds[1]) == 100


def test_a_hurried_proof_has_fewer_runs(start):
    search = ended(start(24), Pretended(lambda data: len(data) / 10_000))
    search.prove(is_hurried=True)
    assert 20 <= len(search.seconds[0]) < 100
    assert search.best is search.leading


def test_wrong_results_are_left(start):
    first = searched(start(24), Pretended(of_size))
    wrong = {first.best.program.read_bytes()}
    search = searched(start(24), Pretended(of_size, wrong))
    assert search.best.program.read_bytes() not in wrong
    assert "it is wrong" in [each.why for each in search.wrong]


def test_baseline_that_does_not_work(start):
    with pytest.raises(ValueError, match="exit code 1"):
        SpeedOptimizer(start(24), Pretended(), command_check("false")).start()


def test_too_little_time_is_said(start):
    search = SpeedOptimizer(start(24, seconds=10), workload := Pretended())
    workload.seconds = lambda program: 2.0
    with pytest.raises(ValueError, match="2667 s"):
        search.start()


def test_hot_loops_and_calls_are_tried(start, monkeypatch, tmp_path):
    profile = Profile((Loop(0, "mix", True, 1.0),), {0: 5})
    monkeypatch.setattr(optimizer, "collect_profile", lambda *_: profile)
    monkeypatch.setattr(optimizer, "_FIRST_OPTIONS", 0)
    evaluator = start(8)
    tried = []
    evaluate = evaluator.evaluate
    evaluator.evaluate = lambda changes: tried.extend(changes) or evaluate(changes)
    search = ended(evaluator, Pretended(), target=tmp_path / "program.o")
    assert [each.name for each in search.stages[:2]] == ["loops", "calls"]
    assert ((0, ("unroll.count:4",)),) in {each.loops for each in tried}
    assert {((0, True),), ((0, False),)} <= {each.calls for each in tried}


def test_slow_compilations_are_tried_in_small_batches(start):
    search = SpeedOptimizer(start(8, seconds=100), workload := Pretended())
    search.start()
    # Programs that never end have a limit.
    assert workload.limits == [2]
    search._compile_seconds = 4.9
    assert search._width == 3  # In 15 s of 100.
    search._compile_seconds = 50.0
    assert search._width == 1
    search._compile_seconds = 0.1
    assert search._width == 8


def test_short_runs_are_repeated(start):
    search = SpeedOptimizer(start(1), workload := Pretended(lambda data: 0.004))
    search.start()
    runs = len(workload.runs)
    search._seconds(search.baseline)
    assert len(workload.runs) - runs == 5


# A sum that LLVM must not reorder: it would be another one.
SUM = """
float sum(const float *a, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
"""


def test_clang_knows_all_options_and_none_reorders_arithmetic(compilation, tmp_path):
    compilation.source.write_text(SUM)
    for part in optimizer.parts():
        path = tmp_path / "sum.s"
        command = ["-S" if word == "-c" else word for word in compilation.command(path, part)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), part
        assert "\taddss\t" in path.read_text() and "\taddps\t" not in path.read_text(), part


def test_parts_are_different():
    parts = optimizer.parts()
    assert len({*parts}) == len(parts) > 50


def test_moves_add_and_take_away():
    first = optimizer.moves(with_passes=False)[0]
    changed = first(NO_CHANGE)
    assert changed.options and first(changed) == NO_CHANGE
    assert len(optimizer.moves(with_passes=True)) > len(optimizer.moves(with_passes=False))


@pytest.mark.parametrize("asked", [False, True])
def test_experimental_options_are_left_out_unless_asked_for(asked):
    changes = [move(NO_CHANGE) for move in optimizer.moves(True, asked)]
    assert any(map(is_experimental, changes)) is asked
