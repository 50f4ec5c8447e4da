"""The programs of docs/upstream/ have the sizes that their comments name."""

import re

import pytest

from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.runfiles_path import runfiles_path

_BLOCK = re.compile(r"^```(llvm|c)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SIZE = re.compile(r"^(?:;|//) clang (-O.*\S) +(\d+) bytes$", re.MULTILINE)


def programs():
    for page in sorted(runfiles_path("docs/upstream").glob("*.md")):
        blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
        for number, (language, text) in enumerate(blocks, start=1):
            yield pytest.param(language, text, id=f"{page.stem}-{number}")


@pytest.mark.parametrize(("language", "text"), programs())
def test_sizes(language, text, tmp_path):
    source = tmp_path / {"llvm": "program.ll", "c": "program.c"}[language]
    source.write_text(text, encoding="utf-8")
    made = tmp_path / "program.o"
    sizes = {}
    for options, _ in _SIZE.findall(text):
        run_command([llvm_tools.clang_path(), *options.split(), "-c", source, "-o", made], 60)
        sizes[options] = read_object(made).text
    assert len(sizes) > 1
    assert sizes == {options: int(size) for options, size in _SIZE.findall(text)}
