"""Tables of results that the same run continues."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from compiler_gym.distributed import Job
from compiler_gym.distributed.json_table import add_rows, rows_of
from compiler_gym.distributed.threads import thread_pool


@dataclass(frozen=True)
class Row:
    """A row with the number of lines in a file, which gets one more. The first try fails."""

    program: str
    file: str

    @property
    def name(self):
        return self.program

    def run(self, worker):
        with Path(self.file).open("a+") as file:
            file.write("try\n")
            file.seek(0)
            tries = len(file.readlines())
        if tries == 1:
            raise ValueError("the first try")
        return {"task": self.name, "tries": tries}


def test_failed_rows_are_tried_again(tmp_path):
    path = tmp_path / "rows.jsonl"

    def add(*programs):
        jobs = [Job(Row(program, str(tmp_path / program))) for program in programs]
        with thread_pool(1) as pool:
            add_rows(pool, jobs, path, "task")
        return [*rows_of(path, "task")]

    (failed,) = add("a")
    assert failed == {"task": "a", "program": "a", "error": "ValueError: the first try"}
    with path.open("a") as file:
        file.write('{"task": "b", "tr')  # Written when the run was killed.
    assert add("a") == [{"task": "a", "tries": 2}]
    (kept, _) = add("a", "b")
    assert kept == {"task": "a", "tries": 2}


@pytest.mark.parametrize("line", ['{"task": "b"', "5", '{"a": 1}', "\xe4", ""])
def test_a_line_that_is_no_row_is_named(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(f'{{"task": "a"}}\n{line}\n'.encode("latin-1"))
    with thread_pool(1) as pool, pytest.raises(ValueError, match=r"line 2 of .*rows\.jsonl"):
        add_rows(pool, [], path, "task")
