"""``compiler-gym replay`` and ``compiler-gym validate``."""

import json

import pytest

HEADER = "benchmark,reward,walltime,commandline\n"
SROA = "opt -passes='module(function(sroa))' input.bc -o output.bc"


@pytest.fixture(name="states")
def fixture_states(environment):
    path = environment / "states.csv"
    rows = (f"kernels-v0/sha256,0.8375,1.5,{SROA}", f"kernels-v0/json,0.5,2.5,{SROA}")
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return path


def test_replay_of_states(run, states):
    text = run("replay", states).stdout
    assert "benchmark://kernels-v0/sha256: IrInstructionCountOz" in text
    assert text.count("1 step, 1 of which changed the program, reward") == 2
    assert text.count("The reward of the state was another: 0.5000") == 1
    assert max(map(len, text.splitlines())) <= 80
    same = run("replay", "-", stdin=states.read_text())
    assert same.stdout == text


def test_one_of_several_states_fails(run, states):
    states.write_text(states.read_text() + f"kernels-v0/none,0.5,1,{SROA}\n")
    lines = states.read_text().splitlines()
    states.write_text("\n".join([lines[0], lines[3], *lines[1:3]]) + "\n")
    done = run("replay", states, code=1)
    assert done.stdout.count("1 step, 1 of which changed the program, reward") == 2
    assert done.stderr.startswith("state 1, benchmark://kernels-v0/none, failed: There is no")


def test_replay_of_passes_writes_the_program(run, program_c, environment):
    arguments = ("replay", "-p", program_c.name, "sroa,simplifycfg", "simplifycfg")
    text = run(*arguments, "--write", "out.ll").stdout
    assert "3 steps, 2 of which changed the program" in text
    assert "phi i32" in (environment / "out.ll").read_text()
    (result,) = json.loads(run(*arguments, "--json", "--reward", "IrInstructionCount").stdout)
    assert result["benchmark"] == program_c.as_uri()
    assert [step["changed"] for step in result["steps"]] == [True, True, False]
    assert result["steps"][2]["total"] == sum(step["reward"] for step in result["steps"])


def test_wrong_arguments_of_replay(fails, states, program_c):
    assert "Name a CSV file of states" in fails("replay", code=2)
    assert "not out.o" in fails("replay", states, "--write", "out.o", code=2)
    assert "--write is for one state, and there are 2" in fails("replay", states, "--write", "o.ll")
    assert fails("replay", "none.csv") == "compiler-gym: none.csv: No such file or directory"
    assert "Line 1: expected 4 columns" in fails("replay", "-", stdin="a,b\n")
    assert "Did you mean sroa?" in fails("replay", "-p", program_c, "sroaa")
    assert "ObjectTextSizeOz" in fails("replay", states, "--reward", "ObjectTextSizeO")


def test_validate(run, states):
    text = run("validate", states, code=1).stdout
    first, second, _, *summary = text.splitlines()
    assert first == "✅  kernels-v0/sha256  0.8375" or "Reward differs" in first
    assert second == "❌  kernels-v0/json  0.5000  Reward differs"
    assert summary[0].endswith("of 2")
    assert summary[1] == "Mean walltime per benchmark: 2.000s (std: 0.500s)"
    assert summary[2].startswith("Geometric mean IrInstructionCountOz: 0.647 (std: ")
    results = json.loads(run("validate", states, "--json", code=1).stdout)
    assert [result["reward_validated"] for result in results] == [True, True]


def test_validate_accepts_the_reward_of_replay(run, environment):
    results = json.loads(run("replay", "-p", "sha256", "sroa,gvn", "--json").stdout)
    reward = results[0]["steps"][-1]["total"]
    commandline = SROA.replace("(sroa)", "(sroa),function(gvn)")
    csv = f'{HEADER}kernels-v0/sha256,{reward!r},1.5,"{commandline}"\n'
    assert "Number of validated results: 1 of 1" in run("validate", "-", stdin=csv).stdout


def test_validate_with_sanitizers(run, environment):
    csv = f"{HEADER}kernels-v0/sha256,,1.5,{SROA}\n"
    arguments = ("validate", "-", "--sanitizer", "address", "--sanitizer", "memory")
    assert "Number of validated results: 1 of 1" in run(*arguments, stdin=csv).stdout


def test_wrong_arguments_of_validate(fails, states):
    assert "There is no sanitizer 'adress': address, memory, thread" in fails(
        "validate", states, "--sanitizer", "adress", code=2
    )
    assert "There are no states in -" in fails("validate", "-", stdin=HEADER)
    assert "none.csv: No such file" in fails("validate", "none.csv")
    assert "'--nproc'" in fails("validate", states, "--nproc", "0", code=2)
    assert "There is no environment" in fails("validate", states, "--env", "llvm")


def test_ctrl_c(interrupt, environment):
    rows = [f"kernels-v0/{name},0,1,{SROA}" for name in ("json", "sha256", "regex") * 200]
    (environment / "many.csv").write_text(HEADER + "\n".join(rows) + "\n")
    interrupt("validate", "many.csv", shows="kernels-v0/")
    interrupt("replay", "many.csv", shows="kernels-v0/")
