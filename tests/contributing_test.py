"""The recipes of docs/contributing/recipes.md, and the reward of docs/guides/rewards.md, work."""

import re

from tests.document_code import block_with, code_blocks, run_python

PAGES = ("docs/contributing/recipes.md", "docs/guides/rewards.md")
BLOCKS = [block for page in PAGES for block in code_blocks(page, "python")]


def test_adding_a_reward(tmp_path):
    output = run_python(block_with("class FewerBlocks(Reward)", BLOCKS), tmp_path)
    blocks = re.fullmatch(r"(\d+)\.0 blocks fewer\n", output)
    assert blocks, output
    assert int(blocks[1]) > 0


def test_adding_a_dataset(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "one.c").write_text("int main() { return 1; }\n")
    (folder / "two.c").write_text("int f(int x) { return x * x; }\n")
    output = run_python(block_with("class MyPrograms(FilesDataset)", BLOCKS), tmp_path)
    name = "benchmark://my-programs-v0"
    assert output == f"{name}/one 1\n{name}/two 2\n"
