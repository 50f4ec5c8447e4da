"""``python -m compiler_gym.bin.NAME`` with the flags of CompilerGym 0.2.5."""

import io
import json
import os
import re
import signal
import subprocess

import pytest
from absl import flags
from absl.testing import flagsaver

import compiler_gym
from compiler_gym.bin import manual_env, service
from compiler_gym.bin.manual_env import commands
from tests.cli.conftest import command
from tests.processes import descendants, wait_until

ENV = "--env=llvm-ic-v0"
SROA = "opt -passes='module(function(sroa))' input.bc -o output.bc"
STATES = (
    "benchmark,reward,walltime,commandline\n"
    f"benchmark://kernels-v0/json,,1.0,{SROA}\n"
    f"benchmark://kernels-v0/regex,0.5,3.0,{SROA}\n"
)
COMMON_FLAGS = [
    *("env", "service", "local_service_binary", "observation", "reward", "benchmark", "ls_env"),
    "action_space",
    "service_rpc_call_max_seconds",
    "service_init_max_seconds",
    "service_init_max_attempts",
    "local_service_port_init_max_seconds",
    "local_service_exit_max_seconds",
    "service_rpc_init_max_seconds",
]
OWN_FLAGS = {
    "service": ["run_on_port", "heading_underline_char"],
    "manual_env": [],
    "random_search": [
        *("runtime", "patience", "nproc", "output_dir", "skip_done", "fail_threshold", "ls_reward")
    ],
    "random_replay": ["output_dir"],
    "random_eval": ["output_dir"],
    "validate": [
        *("nproc", "inorder", "reward_aggregation", "debug_force_valid", "summary_only"),
        "validation_logfile",
    ],
    "datasets": ["download", "download_all", "delete", "activate", "deactivate"],
}


def bin(name):
    return f"compiler_gym.bin.{name}"


@pytest.mark.parametrize("name", OWN_FLAGS)
def test_flags(run, fails, name):
    text = run("--help", module=bin(name)).stdout
    flags = set(re.findall(r"^  --(?:\[no\])?(\w+):", text, re.M))
    common = [] if name == "random_eval" else COMMON_FLAGS
    if name in ("validate", "datasets"):  # Their programs are those of the states, or all.
        common = [flag for flag in common if flag != "benchmark"]
    assert flags >= {*common, *OWN_FLAGS[name]}
    line = fails("--no_such_flag=1", module=bin(name), code=2)
    assert line.startswith(f"{name}: Unknown command line flag 'no_such_flag'")


def test_service_prints_tables(run):
    text = run(ENV, "--heading_underline_char==", module=bin("service")).stdout
    for heading in ("Datasets", "Observation Spaces", "Reward Spaces", "PassesAll Action Space"):
        assert f"{heading}\n{'=' * len(heading)}\n\n=====" in text
    for name in ("benchmark://kernels-v0", "Autophase", "IrInstructionCountOz", "-mem2reg"):
        assert re.search(rf"^ *(\d+  )?{re.escape(name)} ", text, re.M), name
    assert run("--ls_env", module=bin("service")).stdout.splitlines() == sorted(
        compiler_gym.COMPILER_GYM_ENVS
    )


def test_service_serves(environment):
    process = subprocess.Popen(
        command(ENV, "--run_on_port=0", module=bin("service")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = process.stdout.readline().split()[-1]
        with compiler_gym.make("llvm-v0", service=address) as env:
            env.reset()
        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in started))


def test_manual_env(run):
    script = """
        set_benchmark kernels-v0/json
        list_benchmarks kernels-v0
        list_actions unroll
        action sroa gvn -
        stack
        back
        simplify_stack
        set_default_observation IrInstructionCount
        observation
        set_default_reward IrInstructionCount
        reward
        commandline
        try_all_actions
        hill_climb 2
        greedy 1
        reset
        exit
    """
    text = run(ENV, module=bin("manual_env"), stdin=script).stdout
    assert text.startswith("benchmark://kernels-v0/json; 5254 instructions")
    assert "benchmark://kernels-v0/aes\n" in text
    assert "\n  2  gvn " in text
    assert "\nTook back " in text
    assert "-passes='module(function(sroa),function(gvn))'" in text
    names = {each.name for each in commands()}
    assert names >= {
        *("tutorial", "list_datasets", "list_benchmarks", "set_benchmark", "list_actions"),
        *("action", "hill_climb", "try_all_actions", "greedy", "list_observations"),
        *("observation", "set_default_observation", "list_rewards", "reward"),
        *("set_default_reward", "commandline", "stack", "simplify_stack", "reset", "back"),
        *("undo", "breakpoint"),
    }
    assert "action mem2reg" in run(ENV, module=bin("manual_env"), stdin="tutorial").stdout


@pytest.fixture
def restored_flags():
    with flagsaver.flagsaver():
        yield


def test_called_as_a_function(restored_flags, monkeypatch, capsys):
    """As scripts do it: with the name of a program, flags, and no run of absl's."""
    monkeypatch.setattr("sys.stdin", io.StringIO("action sroa\nexit\n"))
    manual_env.main(["argv0", ENV, "--benchmark=kernels-v0/json"])
    assert re.search(r"1  sroa +changed", capsys.readouterr().out)
    service.main(["argv0", ENV, "--heading_underline_char=#"])
    assert "Datasets\n########\n" in capsys.readouterr().out
    with pytest.raises(ValueError, match="Unrecognised arguments: word"):
        service.main(["argv0", ENV, "word"])
    with pytest.raises(flags.Error, match="no_such_flag"):
        manual_env.main(["argv0", "--no_such_flag=1"])


def test_random_searches(run, environment):
    arguments = (ENV, "--benchmark=kernels-v0/json", "--nproc=1", "--output_dir=all/a")
    text = run(*arguments, "--runtime=2", module=bin("random_search")).stdout
    assert text.startswith("Writing logs to all/a\n")
    replay = text.partition("\n")[2]
    assert re.search(r"\d+ steps, \d+ of which changed the program, reward \d\.\d+", replay)
    assert run("--output_dir=all/a", module=bin("random_replay")).stdout == replay
    again = run(
        *arguments, "--skip_done", "--fail_threshold=9", code=1, module=bin("random_search")
    )
    assert again.stdout == text
    assert "is less than 9.0000" in again.stderr
    rows = run("--output_dir=all", module=bin("random_eval")).stdout.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["json", "Geometric", "Average"]
    assert rows[0].split()[2:] == rows[2].split()[1:]


def test_validate(run, environment):
    (environment / "states.csv").write_text(STATES)
    done = run(ENV, "states.csv", "--inorder", "--nproc=2", code=1, module=bin("validate"))
    first, second, line, count, *_ = done.stdout.splitlines()
    assert first == "✅  kernels-v0/json"
    assert second == "❌  kernels-v0/regex  0.5000  Reward differs"
    assert set(line) == {"-"}
    assert count == "Number of validated results: 1 of 2"
    log = json.loads((environment / "validation.log.json").read_text())
    assert [result["okay"] for result in log] == [True, False]
    (environment / "gone.csv").write_text(STATES.replace(SROA, "opt -prune-eh"))
    line = run(ENV, "gone.csv", code=1, module=bin("validate")).stdout.splitlines()[0]
    assert "Action replay failed: '-prune-eh' of CompilerGym 0.2.5" in line
    forced = run(
        *(ENV, "-", "--summary_only", "--debug_force_valid", "--reward_aggregation=mean"),
        module=bin("validate"),
        stdin=STATES,
    )
    assert forced.stdout.splitlines()[1:] == [
        "Number of validated results: 2 of 2",
        "Mean walltime per benchmark: 2.000s (std: 1.000s)",
        "Mean IrInstructionCountOz: 0.500 (std: 0.000)",
    ]


def test_datasets(run, environment):
    text = run(module=bin("datasets")).stdout
    installed, _, others = text.partition("Not installed")
    assert "benchmark://kernels-v0  " in installed
    assert "benchmark://npb-v0  " in others
    assert "every dataset can be used" in run("--activate=npb-v0", module=bin("datasets")).stderr
    run("--download=kernels-v0", "--delete=npb-v0", module=bin("datasets"))


def test_ctrl_c(interrupt, environment):
    (environment / "many.csv").write_text(STATES + STATES.partition("\n")[2] * 300)
    interrupt(ENV, "many.csv", module=bin("validate"), shows="kernels-v0/")
    assert os.listdir(environment) == ["many.csv"]
    # It is how a search without an end is ended: what it has found is shown.
    folder = environment.parent / "found"

    def has_found(_pid):
        progress = folder / "random_search_progress.csv"
        return progress.is_file() and progress.read_text().count("\n") > 1

    options = (ENV, "--nproc=1", f"--output_dir={folder}")
    text = interrupt(*options, module=bin("random_search"), when=has_found, code=0)
    assert "of which changed the program" in text


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("service", [], "expected --env ID"),
        ("service", [ENV, "word"], "Unrecognised arguments: word"),
        ("service", ["--env=llvm"], "There is no environment 'llvm'"),
        ("manual_env", [ENV, "--benchmark=kernels-v0/sha25"], "kernels-v0/sha256?"),
        ("manual_env", [ENV, "--benchmark=file:///none.bc"], "/none.bc"),
        ("random_search", [ENV, "--reward=IrInstCountOz"], "Did you mean"),
        (
            "random_search",
            ["--env=llvm-v0", "--runtime=1"],
            "expected an environment with a reward space",
        ),
        ("random_replay", [], "--output_dir is not given"),
        ("random_replay", ["--output_dir=none"], "none/random_search.json: No such file"),
        ("random_eval", ["--output_dir=none"], "There are no results of random searches"),
        ("validate", [ENV], "Name files of states, or - for standard input"),
        ("validate", [ENV, "none.csv"], "none.csv: No such file"),
        ("datasets", ["--download=npb"], "Did you mean benchmark://npb-v0?"),
    ],
)
def test_wrong_arguments(fails, name, arguments, message):
    line = fails(*arguments, module=bin(name))
    assert line.startswith(f"{name}: ") and message in line
