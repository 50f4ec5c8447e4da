"""``python -m compiler_gym.bin.NAME`` with the flags of CompilerGym 0.2.5."""

import io
import json
import os
import re
import signal

import pytest
from absl import flags
from absl.testing import flagsaver

import compiler_gym
from compiler_gym.bin import manual_env, service
from tests.cli.conftest import serving
from tests.processes import descendants, wait_until

ENV = "--env=llvm-ic-v0"
SROA = "opt -passes='module(function(sroa))' input.bc -o output.bc"
STATES = (
    "benchmark,reward,walltime,commandline\n"
    f"benchmark://kernels-v0/json,,1.0,{SROA}\n"
    f"benchmark://kernels-v0/regex,0.5,3.0,{SROA}\n"
)


def bin(name):
    return f"compiler_gym.bin.{name}"


def test_service_serves(environment):
    with serving(ENV, "--run_on_port=0", module=bin("service")) as (process, address):
        with compiler_gym.make("llvm-v0", service=address) as env:
            env.reset()
        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
    assert process.returncode == 130
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in started))


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
    with pytest.raises(ValueError, match="word"):
        service.main(["argv0", ENV, "word"])
    with pytest.raises(flags.Error, match="no_such_flag"):
        manual_env.main(["argv0", "--no_such_flag=1"])


def test_random_searches(run, environment):
    arguments = (ENV, "--benchmark=kernels-v0/bitops", "--nproc=1", "--output_dir=all/a")
    text = run(*arguments, "--runtime=1", module=bin("random_search")).stdout
    assert text.startswith("Writing logs to all/a\n")
    replay = text.partition("\n")[2]
    assert re.search(r"\d+ steps?, \d+ of which changed the program, reward \d\.\d+", replay)
    assert run("--output_dir=all/a", module=bin("random_replay")).stdout == replay
    again = run(
        *arguments, "--skip_done", "--fail_threshold=9", code=1, module=bin("random_search")
    )
    assert again.stdout == text
    assert "is less than 9.0000" in again.stderr
    lines = run("--output_dir=all", module=bin("random_eval")).stdout.splitlines()
    # The line of headings and long cells may be broken.
    rows = [line for line in lines if line.startswith(("bitops", "Geometric", "Average"))]
    assert [row.split()[0] for row in rows] == ["bitops", "Geometric", "Average"]
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


def test_datasets_are_installed_and_removed(run, environment):
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
