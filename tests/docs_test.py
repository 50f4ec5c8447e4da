"""The Python of docs/ runs as it stands.

These have tests of their own: adding-a-pass.md needs the plugin built there, recipes.md a folder of
programs (tests/contributing_test.py), security.md the service started there, and blocks marked
``python NAME`` are something special.
"""

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import code_blocks, run_python

BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in sorted(runfiles_path("docs").rglob("*.md"))
    if path.name not in ("adding-a-pass.md", "recipes.md", "security.md")
    for number, block in enumerate(code_blocks(str(path.relative_to(runfiles_path())), "python"))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path):
    run_python(block, tmp_path)
