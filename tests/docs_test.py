"""The Python of docs/ runs as it stands."""

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import code_blocks, run_python

BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in sorted(runfiles_path("docs").glob("*.md"))
    for number, block in enumerate(code_blocks(f"docs/{path.name}", "python"))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path):
    run_python(block, tmp_path)
