import os
import subprocess

import numpy as np
import pytest

import compiler_gym
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.gcc import GccEnv
from compiler_gym.errors import ServiceError

PROGRAM = Benchmark.from_file_contents(
    "benchmark://tests-v0/sum",
    b"""\
int sum(const int *x, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) total += x[i];
  return total;
}
""",
)
BIGGER = Benchmark.from_file_contents(
    "benchmark://tests-v0/twice",
    PROGRAM.proto.program.contents + b"int twice(const int *x, int n) { return 2 * sum(x, n); }\n",
)
HANG, CRASH, REFUSED = "--param=asan-stack=0", "--param=asan-stack=1", "--param=align-threshold[+1]"


@pytest.fixture(scope="module")
def shared_env():
    with GccEnv(benchmark=PROGRAM) as env:
        yield env


@pytest.fixture
def env(shared_env):
    """An environment with the GCC of the machine, in an episode."""
    shared_env.observation_space = None
    shared_env.reward_space = None
    shared_env.timeout = 60
    shared_env.reset(benchmark=PROGRAM)
    return shared_env


@pytest.fixture
def fake_env(fake_gcc):
    with GccEnv(gcc_bin=fake_gcc.path, benchmark=PROGRAM) as env:
        env.reset()
        yield env


def by_hand(env, tmp_path, *arguments):
    """Runs the command line of an environment on its program."""
    (tmp_path / "program.c").write_text(env.source)
    subprocess.run(["gcc", *arguments], cwd=tmp_path, check=True)
    return tmp_path


class TestObservations:
    def test_code_equals_gccs(self, env, tmp_path):
        env.multistep([env.action_space["-Os"], env.action_space["-fno-ivopts"]])
        assert env.command_line == "gcc -Os -fno-ivopts -w -c program.c -o program.o"
        expected = by_hand(env, tmp_path, *env.command_line.split()[1:]) / "program.o"
        assert env.obj == expected.read_bytes()
        assert env.obj_size == len(env.obj)
        env.reset()
        env.step(env.action_space["-O2"])
        folder = by_hand(env, tmp_path, "-O2", "-S", "program.c")
        assert env.asm == (folder / "program.s").read_text()
        assert env.asm_size == len(env.asm)

    def test_instruction_counts(self, env):
        counts = env.instruction_counts
        assert counts[".globl"] == 1
        instructions = [name for name in counts if not name.startswith(".")]
        assert "ret" in instructions
        assert "sum" not in counts

    def test_rtl(self, env):
        assert env.rtl.count("(insn") > 5
        rtl = env.rtl
        with env.fork() as fork:
            fork.reset()
            assert fork.rtl == rtl

    def test_baselines(self, env):
        assert env.observation["obj_size_O0"] == env.obj_size
        env.step(env.action_space["-Os"])
        assert env.observation["obj_size_Os"] == env.obj_size
        assert env.observation["asm_size_Os"] == env.asm_size < env.observation["asm_size_O0"]


class TestActions:
    def test_rewards_add_up_to_the_saving(self, env):
        env.reset(reward_space="obj_size")
        before = env.observation["obj_size_O0"]
        rewards = [env.step(env.action_space[name])[1] for name in ("-O3", "-Os")]
        assert sum(rewards) == env.episode_reward == before - env.obj_size > 0

    def test_out_of_range(self, env):
        with pytest.raises(ValueError, match="not in the range"):
            env.step(len(env.action_space.names))
        with pytest.raises(LookupError, match="-fno-gsce"):
            env.action_space["-fno-gsce"]


class TestChoices:
    def test_are_set(self, env):
        choices = env.gcc_spec.choices_of("-Os -fno-ivopts")
        env.choices = choices
        assert env.choices == choices
        assert env.command_line.startswith("gcc -Os -fno-ivopts ")
        assert env.observation_space is None
        assert env.observation["choices"].dtype == np.int64

    def test_actions_before_are_forgotten(self, env):
        env.step(env.action_space["-O3"])
        env.choices = [-1] * len(env.choices)
        env.step(env.action_space["-fno-ivopts"])
        assert env.actions == [env.action_space["-fno-ivopts"]]
        assert env.commandline() == "[] -fno-ivopts"

    @pytest.mark.parametrize(
        ("wrong", "others", "text"),
        [([], 0, "must be"), ([0, 0], 0, "must be"), ([-1, 2], 1, r"Choice 1,.*-1 to 1")],
    )
    def test_mistakes(self, env, wrong, others, text):
        before = env.choices
        with pytest.raises(ValueError, match=text):
            env.choices = wrong + others * before[2:]
        assert env.choices == before

    def test_state_is_applied_and_validated(self, env):
        env.reset(reward_space="obj_size")
        env.choices = env.gcc_spec.choices_of("-Os -fno-ivopts")
        env.step(env.action_space["-fno-gcse"])
        state, digest = env.state, env.obj_hash
        assert state.commandline == "[-Os,-fno-ivopts] -fno-gcse"
        assert env.validate(state).okay()
        env.reset()
        env.apply(state)
        assert (env.obj_hash, env.state.commandline) == (digest, state.commandline)
        with pytest.raises(ValueError, match=r"Use env\.apply"):
            env.commandline_to_actions(state.commandline)


class TestForks:
    def test_are_exact(self, env):
        env.reset(reward_space="obj_size")
        env.step(env.action_space["-O3"])
        env.choices = env.gcc_spec.choices_of("-Os")
        env.step(env.action_space["-fno-ivopts"])
        env.timeout = 33
        with env.fork() as fork:
            for name in ("choices", "obj_hash", "asm_hash", "command_line", "timeout"):
                assert getattr(fork, name) == getattr(env, name)
            assert fork.state.commandline == env.state.commandline
            assert fork.episode_reward == env.episode_reward


class TestCompilations:
    def test_are_made_once(self, fake_env, fake_gcc):
        """For all observations, episodes and forks together; none for actions alone."""
        fake_env.step(fake_env.action_space["-O2"])
        assert fake_gcc.calls("-O2 -w") == []
        assert fake_env.obj_size == len(fake_env.obj)
        assert fake_env.obj_hash
        with fake_env.fork() as fork:
            assert fork.obj_size
        fake_env.reset()
        fake_env.step(fake_env.action_space["-O2"])
        assert fake_env.obj_size
        assert len(fake_gcc.calls("-O2 -w -c")) == 1
        assert fake_env.asm_size
        assert len(fake_gcc.calls("-O2 -w -S")) == 1

    def test_sizes_follow_the_program(self, fake_env):
        size = fake_env.obj_size
        fake_env.reset(benchmark=BIGGER)
        assert fake_env.obj_size > size

    def test_findings_are_kept(self, fake_env, fake_gcc):
        fake_env.step(fake_env.action_space[REFUSED])
        for _ in range(2):
            with pytest.raises(ServiceError, match="is incompatible"):
                _ = fake_env.obj
        assert len(fake_gcc.calls("--param=align-threshold=1 -w -c")) == 1


class TestFailures:
    def test_compiler_refuses_the_options(self, fake_env):
        fake_env.reset(observation_space="obj_size", reward_space="obj_size")
        observation, reward, done, info = fake_env.step(fake_env.action_space[REFUSED])
        assert (observation, reward, done) == (-1, 0, True)
        assert info["error_type"] == "ServiceError"
        assert info["error_details"].startswith("GCC cannot compile the program with these options")
        assert "cc1: error: is incompatible" in info["error_details"]

    def test_recovery(self, fake_env):
        fake_env.reset(observation_space="obj_size")
        fake_env.recover = True
        fake_env.choices = fake_env.gcc_spec.choices_of("-Os")
        fake_env.step(fake_env.action_space["-fgcse"])
        size = fake_env.obj_size
        observation, _, done, info = fake_env.step(fake_env.action_space[REFUSED])
        assert (observation, done, info["recovered"]) == (size, False, True)
        assert fake_env.command_line.startswith("gcc -Os -fgcse ")

    def test_time_limit(self, fake_env):
        with fake_env.fork() as other:
            last = fake_env.reset(observation_space="obj_size")
            fake_env.timeout = 0.2
            observation, _, done, info = fake_env.step(fake_env.action_space[HANG])
            assert (observation, done, info["error_type"]) == (last, True, "TimeoutError")
            assert info["TimeLimit.truncated"]
            assert "took more than 0.2 s" in info["error_details"]
            assert other.obj_size > 0

    def test_crash_is_that_of_one_session(self, fake_env):
        with fake_env.fork() as other:
            fake_env.step(fake_env.action_space[CRASH])
            with pytest.raises(ServiceError, match="SIGSEGV"):
                _ = fake_env.asm
            fake_env.step(fake_env.action_space["--param=asan-stack=0"])
            assert other.asm_size > 0

    def test_lost_compiler(self, fake_env, fake_gcc):
        assert fake_env.obj_size > 0
        os.rename(fake_gcc.path, fake_gcc.path.with_name("away"))
        assert fake_env.obj_size > 0  # It is known.
        fake_env.step(fake_env.action_space["-O2"])
        with pytest.raises(ServiceError, match="compiler is lost"):
            _ = fake_env.obj_size
        os.rename(fake_gcc.path.with_name("away"), fake_gcc.path)
        assert fake_env.obj_size > 0

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
    def test_bad_time_limit(self, env, seconds):
        with pytest.raises(ValueError, match="timeout"):
            env.timeout = seconds
        assert env.timeout == 60
        with pytest.raises(ValueError, match="timeout"):
            GccEnv(timeout=seconds)
        with pytest.raises(ValueError, match="seconds"):
            env.send_param("timeout", str(seconds))

    def test_invalid_program(self, env):
        with pytest.raises(ValueError, match=r"program.c:1:.*error:") as raised:
            env.reset(benchmark=Benchmark.from_file_contents("benchmark://x-v0/y", b"what?"))
        assert "Traceback" not in str(raised.value)

    def test_compiler_for_a_running_service(self, env):
        with pytest.raises(ValueError, match="running service"):
            GccEnv(gcc_bin="gcc", service_connection=env.service)


class TestServices:
    def test_connection_is_shared(self, env):
        with GccEnv(benchmark=PROGRAM, service_connection=env.service) as other:
            other.reset()
            assert other.gcc_spec == env.gcc_spec
            assert other.obj_hash == env.obj_hash

    def test_compiler_by_variable(self, fake_gcc, monkeypatch):
        monkeypatch.setenv("CC", str(fake_gcc.path))
        with compiler_gym.make("gcc-v0") as env:
            assert env.compiler_version == "gcc (Fake) 12.0.0"
