"""The report about libraries, of a library with two small files."""

import re

import pytest

from benchmarks import library_report
from benchmarks.library_report import Program, Project

_SUM = """
int sum(const int *numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) total += numbers[i] * 10;
  return total;
}
"""
_MEAN = "int sum(const int *, int); int mean(const int *of, int n) { return sum(of, n) / n; }\n"
_CALLER = """
int mean(const int *, int);
int main(void) {
  int numbers[] = {1, 2, 3};
  return mean(numbers, 3) - 20;
}
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Makes the sources of the library, and returns their folder."""
    sources = {"sum.c": _SUM, "mean.c": _MEAN, "left_out.c": "#error This is not part of it.\n"}
    folder = tmp_path / "source"
    folder.mkdir()
    for name, text in sources.items():
        (folder / name).write_text(text)
    tests, benchmark = Program(text=_CALLER), Program(text=_CALLER)
    project = Project("small", ("*.c",), tests, benchmark, left_out=("left_out.c",))
    monkeypatch.setattr(library_report, "PROJECTS", {"small": project})
    monkeypatch.setattr(library_report, "fetch", lambda _: folder)
    return folder


def _table(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Returns the rows of the last table."""
    printed = [line for line in capsys.readouterr().out.splitlines() if "small, " in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed[-8:]]


def test_a_folder_keeps_builds_until_they_are_timed(library, tmp_path, capsys):
    words = ["--folder", str(tmp_path / "builds"), "--evaluations", "1", "--rounds"]
    library_report.main([*words, "0"])
    first = _table(capsys)
    (library / "sum.c").write_text("#error This has been compiled.\n")
    library_report.main([*words, "2"])
    second = _table(capsys)
    names = ["small, static"] * 4 + ["small, shared"] * 4
    assert [row[0] for row in first] == [row[0] for row in second] == names
    assert [row[4] for row in first] == ["1", "not timed", "not timed", "not timed"] * 2
    assert all(re.match(r"1$|\d+\.\d\d \(", row[4]) for row in second)
    assert [row[:4] for row in first] == [row[:4] for row in second]
    loaded = [int(row[3].split()[0]) for row in first]
    assert loaded[2] <= loaded[0] and loaded[6] <= loaded[4] and min(loaded) > 100
