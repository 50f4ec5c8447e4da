"""The options that are tried."""

import subprocess

from compiler_gym.tuning.size.compilation import NO_CHANGE
from compiler_gym.tuning.speed import optimizer


def test_clang_knows_all_options(compilation, tmp_path):
    compilation.source.write_text("int f(int x) { return x + 1; }\n")
    for part in optimizer.parts():
        command = compilation.command(tmp_path / "f.o", part)
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), part


def test_parts_are_different():
    parts = optimizer.parts()
    assert len({*parts}) == len(parts) > 50


def test_moves_add_and_take_away():
    first = optimizer.moves(with_passes=False)[0]
    changed = first(NO_CHANGE)
    assert changed.options and first(changed) == NO_CHANGE
    assert len(optimizer.moves(with_passes=True)) > len(optimizer.moves(with_passes=False))
