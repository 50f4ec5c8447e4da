"""The Python of docs/ runs as it stands, and prints what it should.

That of docs/guides/ is in guides_test.py. security.md, which needs the service that is started
there, has a test of its own, and blocks marked ``python NAME`` are something special.
"""

import re

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import block_with, blocks_of_pages, code_blocks, run_python

PAGES = [
    page
    for page in runfiles_path("docs").rglob("*.md")
    if page.parent.name != "guides" and page.name not in ("recipes.md", "security.md")
]

# The output of blocks that have a text.
PRINTED = {
    "PassStats": r"True \['(?s:.*)\n\d+ \d+\n",
    "compare_runtimes(": r"\d+\.\d\d times as fast \(\d+\.\d\d to \d+\.\d\d\)\n(?s:.*)",
    "target_triple": r"\d{3,} bytes on RISC-V\n",
    "compute_observation": r"\d{3,}\n",
}


@pytest.mark.parametrize("block", blocks_of_pages(PAGES))
def test_block(block, tmp_path):
    output = run_python(block, tmp_path)
    for text, printed in PRINTED.items():
        assert text not in block or re.fullmatch(printed, output), output


def test_blocks_whose_output_is_compared_are_there():
    blocks = code_blocks("docs/environments/observations.md", "python")
    assert all(block_with(text, blocks) for text in PRINTED)


def test_adding_a_dataset(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "one.c").write_text("int main() { return 1; }\n")
    (folder / "two.c").write_text("int f(int x) { return x * x; }\n")
    blocks = code_blocks("docs/contributing/recipes.md", "python")
    output = run_python(block_with("class MyPrograms(FilesDataset)", blocks), tmp_path)
    name = "benchmark://my-programs-v0"
    assert output == f"{name}/one 1\n{name}/two 2\n"
