"""Tests of the programs to mine."""

import json

import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.mine.programs import programs_of_project


@pytest.fixture(name="database")
def fixture_database(tmp_path):
    def write(*entries):
        path = tmp_path / "compile_commands.json"
        path.write_text(json.dumps([{"directory": str(tmp_path), **each} for each in entries]))
        return path

    return write


def test_commands_of_a_database_make_marked_bitcode(tmp_path, database):
    (tmp_path / "a.c").write_text("int f(void) { return N; }")
    (program,) = programs_of_project(
        database({"file": "a.c", "command": "cc -O2 -DN=3 -flto -c a.c -o build/a.o"})
    )
    bitcode = program.write(Datasets(), tmp_path).read_bytes()
    assert bitcode.startswith(b"BC")


def test_a_source_that_does_not_compile(tmp_path, database):
    (tmp_path / "a.c").write_text("int f(void) { return N; }")
    (program,) = programs_of_project(database({"file": "a.c", "command": "cc -c a.c"}))
    with pytest.raises(BenchmarkInitError, match=r"a\.c does not compile"):
        program.write(Datasets(), tmp_path)
