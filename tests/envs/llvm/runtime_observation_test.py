import numpy as np
import pytest

from compiler_gym.envs.llvm import make_benchmark_from_source, with_dynamic_config
from compiler_gym.service.proto import Command

COUNTING_PROGRAM = """
#include <stdio.h>
int main(void) {
  FILE *file = fopen("runs", "a");
  fputs("x", file);
  return fclose(file);
}
"""


@pytest.fixture
def counting(tmp_path):
    """A program that leaves a trace of each run."""
    benchmark = make_benchmark_from_source(COUNTING_PROGRAM, lang="c")
    return with_dynamic_config(benchmark, outfiles=["runs"], post_run=[f"cp runs {tmp_path}/runs"])


def test_kernel_is_runnable(env):
    env.reset()
    assert env.observation["IsBuildable"] is True
    assert env.observation["IsRunnable"] is True
    (seconds,) = env.observation["Runtime"]
    assert 0 < seconds < 60
    (seconds,) = env.observation["Buildtime"]
    assert 0 < seconds < 60


def test_program_without_commands(env, small):
    env.reset(benchmark=small)
    assert env.observation["IsBuildable"] is False
    assert env.observation["IsRunnable"] is False
    assert env.observation["Runtime"].shape == (0,)
    assert env.observation["Buildtime"].shape == (0,)
    env.reset(benchmark=with_dynamic_config(small, run=None))
    assert env.observation["IsBuildable"] is True
    assert env.observation["IsRunnable"] is False


def test_counts(env, counting, tmp_path):
    env.runtime_observation_count = 4
    env.runtime_warmup_runs_count = 2
    env.reset(benchmark=counting)
    assert env.observation["Runtime"].shape == (4,)
    assert (tmp_path / "runs").read_text() == "x" * 6
    assert env.send_param("llvm.get_runtimes_per_observation_count", "") == "4"
    # Counts that are set in an episode hold for the next, too, and forks have their own.
    env.runtime_observation_count = 2
    for _ in range(2):
        assert env.observation["Runtime"].shape == (2,)
        env.reset()
    with env.fork() as fork:
        assert fork.observation["Runtime"].shape == (2,)
        fork.reset()
        assert fork.observation["Runtime"].shape == (2,)
        fork.runtime_observation_count = 3
        assert fork.observation["Runtime"].shape == (3,)
    assert env.observation["Runtime"].shape == (2,)


@pytest.mark.parametrize("in_episode", [False, True])
def test_bad_counts(env, small, in_episode):
    if in_episode:
        env.reset(benchmark=small)
    with pytest.raises(ValueError, match="at least 1"):
        env.runtime_observation_count = 0
    with pytest.raises(ValueError, match="at least 0"):
        env.runtime_warmup_runs_count = -1
    assert env.runtime_observation_count == 1
    assert env.runtime_warmup_runs_count == 0


def test_optimised_program_is_measured(env, tmp_path):
    source = '#include <stdio.h>\nint main(void) { return printf("%d", 1) < 0; }'
    benchmark = with_dynamic_config(
        make_benchmark_from_source(source, lang="c"),
        run="./a.out > out.txt",
        outfiles=["out.txt"],
        post_run=[f"cp out.txt a.out {tmp_path}"],
    )
    env.reset(benchmark=benchmark)
    _ = env.observation["Runtime"]
    before = (tmp_path / "a.out").read_bytes()
    assert (tmp_path / "out.txt").read_text() == "1"
    env.multistep([env.action_space[name] for name in ("sroa", "instcombine", "simplifycfg")])
    _ = env.observation["Runtime"]
    assert (tmp_path / "a.out").read_bytes() != before


def test_environment_and_pre_run_commands(env, small, tmp_path):
    benchmark = with_dynamic_config(
        small,
        run="cat input.txt > output.txt",
        pre_run=["echo $WORD > input.txt"],
        infiles=["input.txt"],
        outfiles=["output.txt"],
        post_run=[f"cp output.txt {tmp_path}"],
        env={"WORD": "hello"},
    )
    env.reset(benchmark=benchmark)
    assert env.observation["Runtime"].shape == (1,)
    assert (tmp_path / "output.txt").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"build": "false"}, "exit code 1"),
        ({"build": "true"}, "a.out"),
        ({"run": "exit 7"}, "exit code 7"),
        ({"run": "sleep 1000", "timeout": 1}, "1 seconds"),
        ({"run": "true", "outfiles": ["none.txt"]}, "none.txt"),
        ({"run": "true", "infiles": ["none.txt"]}, "none.txt"),
    ],
)
def test_failing_commands(env, small, config, message):
    env.reset(benchmark=with_dynamic_config(small, **config))
    with pytest.raises(Exception, match=message):
        _ = env.observation["Runtime"]


def test_command_messages(env, small, tmp_path):
    run = Command(argument=["pwd", ">", "pwd"], timeout_seconds=10)
    post_run = [f"cp pwd {tmp_path}"]
    env.reset(benchmark=with_dynamic_config(small, run=run, post_run=post_run))
    assert np.all(env.observation["Runtime"] > 0)
    assert (tmp_path / "pwd").exists()


def test_forks_have_builds_of_their_own(env, counting, tmp_path):
    env.reset(benchmark=counting)
    assert env.observation["Runtime"].shape == (1,)
    with env.fork() as fork:
        assert fork.observation["Runtime"].shape == (1,)
        # Not the second line in the file of the original.
        assert (tmp_path / "runs").read_text() == "x"
    # What the fork has removed was not that of the original, which may run again.
    assert env.observation["Runtime"].shape == (1,)
    assert (tmp_path / "runs").read_text() == "xx"


def test_originals_leave_their_builds_alone(env, counting):
    env.reset(benchmark=counting)
    assert env.observation["Buildtime"].shape == (1,)
    with env.fork() as fork:
        env.reset()
        assert fork.observation["Runtime"].shape == (1,)
