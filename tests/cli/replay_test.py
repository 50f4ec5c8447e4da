"""``compiler-gym replay`` and ``compiler-gym validate``."""

import json

HEADER = "benchmark,reward,walltime,commandline\n"
SROA = "opt -passes='module(function(sroa))' input.bc -o output.bc"


def test_replay_of_passes_writes_the_program(run, program_c, environment):
    arguments = ("replay", "-p", program_c.name, "sroa,simplifycfg", "simplifycfg")
    text = run(*arguments, "--write", "out.ll").stdout
    assert "3 steps, 2 of which changed the program" in text
    assert "phi i32" in (environment / "out.ll").read_text()
    (result,) = json.loads(run(*arguments, "--json", "--reward", "IrInstructionCount").stdout)
    assert result["benchmark"] == program_c.as_uri()
    assert [step["changed"] for step in result["steps"]] == [True, True, False]
    assert result["steps"][2]["total"] == sum(step["reward"] for step in result["steps"])


def test_no_states_are_an_error(run, environment):
    (environment / "empty.csv").touch()
    run("replay", "empty.csv", code=1)


def test_validate_accepts_the_reward_of_replay(run, environment):
    results = json.loads(run("replay", "-p", "sha256", "sroa,gvn", "--json").stdout)
    reward = results[0]["steps"][-1]["total"]
    commandline = SROA.replace("(sroa)", "(sroa),function(gvn)")
    csv = f'{HEADER}kernels-v0/sha256,{reward!r},1.5,"{commandline}"\n'
    assert "Number of validated results: 1 of 1" in run("validate", "-", stdin=csv).stdout
    for command, shown in (
        ("validate", "Number of validated results: 1 of 1"),
        ("replay", "2 steps, "),
    ):
        done = run(command, "-", stdin=f"{csv}1,2\n", code=1)
        assert shown in done.stdout
        assert done.stderr.startswith("-: Line 3: expected 4 columns")


def test_a_state_of_another_version(run, environment):
    header = HEADER.replace("\n", ",compiler_version\n")
    text = "Made by version 0.1 of the compiler, and this is "
    csv = f"{header}kernels-v0/sha256,9,1.5,{SROA},0.1\n"
    assert text in run("replay", "-", stdin=csv).stdout
    assert text in run("validate", "-", stdin=csv, code=1).stdout
    csv = csv.replace("sroa", "no-such-pass")
    assert text in run("replay", "-", stdin=csv, code=1).stderr


def test_validate_with_sanitizers(run, environment):
    csv = f"{HEADER}kernels-v0/sha256,,1.5,{SROA}\n"
    arguments = ("validate", "-", "--sanitizer", "address", "--sanitizer", "memory")
    assert "Number of validated results: 1 of 1" in run(*arguments, stdin=csv).stdout


def test_ctrl_c(interrupt, environment):
    rows = [f"kernels-v0/{name},0,1,{SROA}" for name in ("json", "sha256", "regex") * 200]
    (environment / "many.csv").write_text(HEADER + "\n".join(rows) + "\n")
    interrupt("validate", "many.csv", shows="kernels-v0/")
    interrupt("replay", "many.csv", shows="kernels-v0/")
