"""``compiler-gym eval``."""

import json

import pytest


@pytest.fixture(name="policy")
def fixture_policy(environment):
    path = environment / "own.json"
    sequences = ["mem2reg", "sroa early-cse simplifycfg instcombine loop-rotate"]
    path.write_text(json.dumps({"about": {"by": "hand"}, "sequences": sequences}))
    return path


def test_table(run, policy, program_c):
    text = run("eval", "sha256", program_c.name, "--policy", policy.name).stdout
    assert max(map(len, text.splitlines())) <= 80
    (sha256,) = (line.split() for line in text.splitlines() if line.startswith("sha256 "))
    assert sha256[-1] == "right"
    (own,) = (line.split() for line in text.splitlines() if line.startswith(program_c.name))
    assert own[-2:] == ["not", "checked"]
    assert int(own[3]) < int(own[1])
    assert "of 2 smaller; at most 6 passes run on a program." in text


def test_json(run, policy):
    report = json.loads(run("eval", "sha256", "--policy", policy, "--json", "--no-check").stdout)
    assert report["about"] == {"by": "hand"}
    (row,) = report["programs"]
    assert row["ratio"] == row["policy"] / row["Oz"]
    assert row["passes"] == ["sroa", "early-cse", "simplifycfg", "instcombine"]
    assert (row["tried"], row["output"]) == (6, "not checked")


def test_what_is_wrong_is_said(fails, policy):
    assert "no policy of that name: sequence, coreset, network" in fails(
        "eval", "--policy", "corset"
    )
    policy.write_text("{}")
    assert "expected a policy" in fails("eval", "sha256", "--policy", policy)
    policy.write_text('{"about": {}, "sequences": ["sroaa"]}')
    assert "Did you mean sroa?" in fails("eval", "sha256", "--policy", policy)


def test_several_at_a_time_are_the_same(run, policy, program_c, environment):
    (environment / "other.c").write_text("int twice(int x) { return x + x; }")
    words = ("eval", program_c.name, "other.c", "--policy", policy.name, "--json")
    assert run(*words, "--jobs", "2").stdout == run(*words).stdout
