"""``compiler-gym eval``."""

import json

import pytest

from compiler_gym.cli.options import program_name
from compiler_gym.datasets.uri import uri_of_file


@pytest.fixture(name="policy")
def fixture_policy(environment):
    path = environment / "own.json"
    sequences = ["mem2reg", "sroa early-cse simplifycfg instcombine loop-rotate"]
    path.write_text(json.dumps({"about": {"by": "hand"}, "sequences": sequences}))
    return path


def test_a_long_mistake_has_a_short_message(fails, policy):
    policy.write_text(json.dumps({"about": {}, "sequences": ["x" * 1_000_000]}))
    line = fails("eval", "sha256", "--policy", policy)
    assert "is not in the space" in line and len(line) < 400


def test_programs_of_a_dataset(run, fails, policy):
    words = ("--policy", policy, "--no-check", "--json")
    done = json.loads(run("eval", "kernels-v0", "--count", "1", *words).stdout)
    assert [row["uri"] for row in done["programs"]] == ["benchmark://kernels-v0/aes"]
    assert "Did you mean sha256" in fails("eval", "sha255", *words)


def test_one_of_several_does_not_compile(run, policy, program_c, environment):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    (environment / "other.c").write_text("int twice(int x) { return x + x; }")
    words = ("eval", "wrong.c", program_c.name, "other.c", "--policy", policy.name, "--json")
    done = run(*words, code=1)
    report = json.loads(done.stdout)
    at_once = json.loads(run(*words, "--jobs", "2", code=1).stdout)
    row, other = report["programs"]
    assert at_once["programs"] == [row, other]
    assert row["uri"] == program_c.as_uri()
    assert row["ratio"] == row["policy"] / row["Oz"]
    assert row["marked_ratio"] == row["policy"] / row["marked_Oz"]
    for each in (report, at_once):
        (reason,) = each["failed"].values()
        assert "use of undeclared identifier 'g'" in reason
    assert "wrong.c failed: Command failed" in done.stderr


def test_programs_that_oz_removes_are_apart(run, policy, program_c, environment):
    calls = "".join(f"  if (pure(x * {n})) {{ y += x / {n + 1}; }}\n" for n in range(200))
    (environment / "gone.c").write_text(
        f"static int pure(int x) {{ return x * x; }}\nvoid f(int x) {{\n  int y = 0;\n{calls}}}\n"
    )
    text = run("eval", "gone.c", program_c.name, "--policy", policy.name).stdout
    assert text.count("of 1 smaller; apart: 1 programs that the baseline nearly removes, ") == 2
    text = run("eval", "gone.c", "--policy", policy.name).stdout
    assert "No program counts for -Oz; 0 of 0 smaller; apart: 1 programs" in text


def test_function_and_model(run, fails, environment):
    (environment / "own_policies.py").write_text(
        """
import numpy as np

def choose(observation):
    return 3

class Model:
    def set_random_seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def predict(self, observation, deterministic=False):
        return (0 if deterministic else self.rng.integers(100)), None

model = Model()
"""
    )
    arguments = ("eval", "sha256", "--steps", 2)
    done = json.loads(
        run(*arguments, "--policy", "own_policies:choose", "--json", "--no-check").stdout
    )
    (row,) = done["results"]["policy"]["rows"]
    assert (row["actions"], row["output"]) == ([3, 3], "not checked")
    text = run(*arguments, "--policy", "own_policies:model", "--episodes", 2).stdout
    assert max(map(len, text.splitlines()[:4])) <= 80
    (sha256,) = (line.split() for line in text.splitlines() if line.startswith("sha256 "))
    assert sha256[-1] == "right"
    assert "drawn: " in text and "likeliest: " in text
    assert "got NoneType" in fails(*arguments, "--policy", "own_policies:chose")
    assert "expected a wrapper" in fails(
        *arguments, "--policy", "own_policies:choose", "--wrapper", "compiler_gym.wrappers:None_"
    )
    assert "one program at a time" in fails(
        *arguments, "--policy", "own_policies:choose", "--jobs", 2, code=2
    )


def test_names_of_files_are_not_quoted(tmp_path):
    assert program_name(uri_of_file(tmp_path / "a ü.c")) == "a ü.c"
    assert program_name(uri_of_file(tmp_path / "a\nb.c")) == "a%0Ab.c"


def test_a_missing_module_is_no_defect(run, program_c):
    failed = run("eval", program_c.name, "--policy", "no_such_module:choose", code=1)
    assert "Traceback" not in failed.stderr
