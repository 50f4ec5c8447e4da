"""docs/guides/your-own-compiler.md, followed by a reader with an empty folder."""

import re

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import code_blocks, run_python
from tests.processes import run_interpreter

PAGE = "docs/guides/your-own-compiler.md"
EXAMPLE = "examples/example_compiler_gym_service/service_py/example_service.py"


def file_of(name: str) -> str:
    """The contents of a file that the page shows."""
    (text,) = code_blocks(PAGE, f"python {re.escape(name)}")
    return text


def test_the_service_is_the_example():
    assert file_of("example_service.py") == runfiles_path(EXAMPLE).read_text()


def test_episode(tmp_path):
    (tmp_path / "example_service.py").write_text(file_of("example_service.py"))
    (output,) = code_blocks(PAGE, "text output")
    assert run_python(file_of("play.py"), tmp_path) == output


def test_help(tmp_path):
    done = run_interpreter(runfiles_path(EXAMPLE), "--help", cwd=tmp_path)
    assert done.stdout.startswith("example_service: Optimises programs that add and multiply.\n")


def test_files_named_by_the_page_exist():
    for path in re.findall(
        r"`((?:examples|compiler_gym|docs|benchmarks)/[^`]+)`", runfiles_path(PAGE).read_text()
    ):
        assert runfiles_path(path).exists() or path.startswith("benchmarks/"), path
