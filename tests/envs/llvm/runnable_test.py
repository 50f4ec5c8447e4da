"""Programs of one's own that can be run and checked."""

import pytest

import compiler_gym
from compiler_gym.errors import ServiceError

SORT = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void* a, const void* b) { return strcmp(a, b); }
int main(void) {
  char words[9][9];
  int count = 0;
  while (count < 9 && scanf("%8s", words[count]) == 1) count++;
  qsort(words, count, sizeof(words[0]), compare);
  for (int i = 0; i < count; i++) puts(words[i]);
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The present folder, with a program and an input."""
    (tmp_path / "sort.c").write_text(SORT)
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "in.txt").write_text("b c\na\n")
    (tmp_path / "out.txt").write_text("a\nb\nc\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_program_is_run_and_checked(env, folder):
    program = compiler_gym.benchmark("sort.c", "./a.out < inputs/in.txt", expect="out.txt")
    assert program.source == SORT
    env.reset(benchmark=program)
    env.multistep(["sroa", "inline", "gvn"])
    assert env.validate().okay()
    (seconds,) = env.observation["Runtime"]
    assert seconds > 0
    (folder / "out.txt").write_text("c\nb\na\n")
    (error,) = env.validate().errors
    assert error.type == "Wrong output"
    assert error.data["actual"] == "a\nb\nc"


def test_measured_program_is_confined_unless_told(env, folder):
    (folder / "secret.txt").write_text("text")
    # The command does not name the file, but a pattern.
    command = f"./a.out < inputs/in.txt; cat {folder}/secret*"
    env.reset(benchmark=compiler_gym.benchmark("sort.c", command, confined=False))
    assert env.observation["Runtime"][0] > 0
    env.reset(benchmark=compiler_gym.benchmark("sort.c", command))
    with pytest.raises(ServiceError, match="exit code 1"):
        _ = env.observation["Runtime"]


def test_without_expectation_it_is_compared_with_the_unoptimised_program(env, folder):
    env.reset(benchmark=compiler_gym.benchmark("sort.c", "./a.out < inputs/in.txt"))
    env.multistep(["sroa", "inline"])
    assert env.validate().okay()
    env.reset(benchmark=compiler_gym.benchmark("sort.c", "./a.out < inputs/in.txt; exit 3"))
    (error,) = env.validate().errors
    assert error.type == "Runtime error (3) of the unoptimised program"


WRITE = "./a.out < inputs/in.txt > sorted.txt; echo done"


def test_files_that_it_writes_are_checked(env, folder):
    (folder / "says.txt").write_text("done\n")
    env.reset(
        benchmark=compiler_gym.benchmark(
            "sort.c", WRITE, expect="says.txt", files={"sorted.txt": "out.txt"}
        )
    )
    assert env.validate().okay()
    (folder / "out.txt").write_text("c\nb\na\n")
    (error,) = env.validate().errors
    assert (error.type, error.data["file"]) == ("Wrong output (file)", "sorted.txt")


def test_files_are_compared_with_those_of_the_unoptimised_program(env, folder):
    env.reset(benchmark=compiler_gym.benchmark("sort.c", WRITE, files=["sorted.txt"]))
    env.multistep(["sroa", "inline"])
    assert env.validate().okay()
    # Something else each time.
    command = f"{WRITE}; mktemp -u > random.txt"
    env.reset(benchmark=compiler_gym.benchmark("sort.c", command, files=["random.txt"]))
    assert [error.type for error in env.validate().errors] == ["Wrong output (file)"]
    env.reset(benchmark=compiler_gym.benchmark("sort.c", WRITE, files=["other.txt"]))
    (error,) = env.validate().errors
    assert error.type == "Output not generated of the unoptimised program"
    assert error.data["file"] == "other.txt"


def test_uri_depends_on_the_contents(folder):
    def uri(**kwargs):
        return str(compiler_gym.benchmark(["sort.c"], **kwargs).uri)

    assert uri() == uri()
    assert uri().startswith("benchmark://user-v0/sort-")
    (folder / "expected").write_text("x")
    variants = [{}, {"run": "./a.out x"}, {"copt": ["-DX"]}, {"expect": "out.txt"}]
    uris = {uri(**kwargs) for kwargs in [*variants, {"expect": "expected"}]}
    # The macro changes nothing of the program.
    assert len(uris) == len(variants)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sources": "none.c"}, FileNotFoundError, "none.c"),
        ({"sources": []}, ValueError, "inputs"),
        ({"run": " "}, ValueError, "blank"),
        ({"run": "./a.out", "expect": "ou.txt"}, FileNotFoundError, "ou.txt"),
        ({"files": {"sorted.txt": "out.txt"}}, ValueError, "expect"),
        ({"files": ["sorted.txt"], "expect": "out.txt"}, ValueError, "contents"),
        ({"files": "sorted.txt"}, TypeError, "list"),
        ({"files": {"sorted.txt": "ou.txt"}, "expect": "out.txt"}, FileNotFoundError, "ou.txt"),
    ],
)
def test_invalid_arguments(folder, arguments, error, message):
    with pytest.raises(error, match=message):
        compiler_gym.benchmark(**{"sources": "sort.c", **arguments})
