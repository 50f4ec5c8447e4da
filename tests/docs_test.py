"""The Python of docs/ runs as it stands. That of docs/guides/ is in guides_test.py.

These have tests of their own: recipes.md needs a folder of programs (tests/contributing_test.py),
security.md the service started there, and blocks marked ``python NAME`` are something special.
"""

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import blocks_of_pages, run_python

PAGES = [
    page
    for page in runfiles_path("docs").rglob("*.md")
    if page.parent.name != "guides" and page.name not in ("recipes.md", "security.md")
]


@pytest.mark.parametrize("block", blocks_of_pages(PAGES))
def test_block(block, tmp_path):
    run_python(block, tmp_path)
