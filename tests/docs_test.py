"""The Python of docs/ runs as it stands.

But for that of adding-a-pass.md, which needs the plugin built there (tests/adding_a_pass_test.py),
of leaderboard.md, which needs flags (tests/leaderboard), and of security.md, which needs the
service started there (tests/security_doc_test.py).
"""

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import code_blocks, run_python

BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in sorted(runfiles_path("docs").rglob("*.md"))
    if path.name not in ("adding-a-pass.md", "leaderboard.md", "security.md")
    for number, block in enumerate(code_blocks(str(path.relative_to(runfiles_path())), "python"))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path):
    run_python(block, tmp_path)
