"""The options that are tried."""

import subprocess

import pytest

from compiler_gym.tuning.size.compilation import NO_CHANGE
from compiler_gym.tuning.size.ranking import is_experimental
from compiler_gym.tuning.speed import optimizer

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
