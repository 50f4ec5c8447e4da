"""Learning curves, and the picture and table of docs/guides/learning.md."""

import pytest

from benchmarks import learning, learning_report
from benchmarks.learning import Point
from compiler_gym.util.runfiles_path import runfiles_path

PICTURES = runfiles_path("docs/pictures")


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Makes a trainer of a line of Python."""
    monkeypatch.setattr(learning, "EXAMPLES", tmp_path)

    def make(line):
        (tmp_path / "trainer.py").write_text(f"import sys\n{line}\n")
        return "trainer"

    return make


def test_output_of_a_trainer(trainer):
    line = "9600 steps: 101.5% of what -Oz saves, 102.0% in the best of 5"
    name = trainer(f"print('hello'); print({line!r}); assert sys.argv[1:] == {ARGUMENTS}")
    assert list(learning.learn(name, 9_600, seed=3)) == [
        Point("trainer, one episode", 3, 9_600, pytest.approx(1.015)),
        Point("trainer, best of 5", 3, 9_600, pytest.approx(1.02)),
    ]


ARGUMENTS = ["--steps", "9600", "--seed", "3"]


def test_random_search():
    *curve, one, best = learning.search(5 * 210, seed=1)
    assert [point.steps for point in curve] == [210, 420, 630, 840, 1050]
    shares = [point.share for point in curve]
    assert shares == sorted(shares)
    assert 0 < one.share < best.share
    assert best.share == curve[-1].share
    assert (one.method, best.method) == ("random, one episode", "random, best of 5")


def test_the_document_shows_these_numbers(report, tmp_path):
    (tmp_path / "learning.csv").write_bytes((PICTURES / "learning.csv").read_bytes())
    table = report(learning_report.main, tmp_path, "--redraw")
    assert table.count("\n") > 4
    assert table in runfiles_path("docs/guides/learning.md").read_text()
    picture = (tmp_path / "learning.svg").read_text()
    assert picture == (PICTURES / "learning.svg").read_text()
    assert "random search" in picture
