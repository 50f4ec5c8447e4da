"""Results of the code about measurements in docs/environments/observations.md."""

import re

from tests.document_code import block_with, code_blocks, run_python

BLOCKS = code_blocks("docs/environments/observations.md", "python")


def test_pass_stats(tmp_path):
    output = run_python(block_with("PassStats", BLOCKS), tmp_path)
    assert output.startswith("True ['")
    before, after = re.findall(r"^(\d+) (\d+)$", output, re.M)[-1]
    assert int(before) > int(after) > 0


def test_runtime(tmp_path):
    output = run_python(block_with("compare_runtimes(", BLOCKS), tmp_path)
    assert re.match(r"\d+\.\d\d times as fast \(\d+\.\d\d to \d+\.\d\d\)\n", output), output


def test_target(tmp_path):
    output = run_python(block_with("target_triple", BLOCKS), tmp_path)
    assert re.fullmatch(r"\d{3,} bytes on RISC-V\n", output), output


def test_compute_observation(tmp_path):
    output = run_python(block_with("compute_observation", BLOCKS), tmp_path)
    assert int(output) > 100
