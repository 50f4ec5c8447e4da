"""Tests of docs/guides/adding-a-pass.md, with the plugin built from its text."""

import re
import shutil

from compiler_gym.cli.app import program_command
from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import block_with, code_blocks, run_python

PAGE = "docs/guides/adding-a-pass.md"
PLUGIN = "tests/llvm_service/MulToShift.so"


def test_playing_the_plugin(tmp_path):
    shutil.copy(runfiles_path(PLUGIN), tmp_path)
    code = block_with("pass_plugins=", code_blocks(PAGE, "python"))
    output = run_python(code, tmp_path)
    assert re.match(r"changed (the program|nothing)\nopt ", output), output
    assert f"-load-pass-plugin={tmp_path}/MulToShift.so" in output


def test_the_options_that_the_page_names_exist():
    text = runfiles_path(PAGE).read_text()
    command = program_command().commands["measure-pass"]
    known = {option for each in command.params for option in each.opts}
    named = set(re.findall(r"`(--[a-z-]+)`", text))
    assert {"--then", "--cost", "--seed"} <= named <= known | {"--help"}
