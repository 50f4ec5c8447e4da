"""Flags of absl, as programs use them: each test is a program of its own."""

import functools
import os
import textwrap
from pathlib import Path

import pytest

from tests.prepared import PreparedInterpreter

PROGRAM = """
from absl import app, flags

from compiler_gym.util.flags.benchmark_from_flags import benchmark_from_flags
from compiler_gym.util.flags.env_from_flags import env_from_flags
from compiler_gym.util.flags import (
    episode_length, episodes, learning_rate, nproc, output_dir, seed
)

FLAGS = flags.FLAGS


def main(argv):
    with env_from_flags(benchmark_from_flags()) as env:
        observation = env.reset()
        print(env.benchmark)
        print(type(observation).__name__, env.reward_space and env.reward_space.name)
        print(env.step(env.action_space["mem2reg"])[2])
    print(FLAGS.nproc, FLAGS.output_dir, FLAGS.seed, FLAGS.episodes, FLAGS.episode_length)
    print(FLAGS.learning_rate)


app.run(main)
"""


@functools.cache
def _interpreter() -> PreparedInterpreter:
    return PreparedInterpreter("absl.app", "compiler_gym.envs.llvm.llvm_env")


def run(*arguments, program=PROGRAM):
    code = f"import sys\nsys.argv[1:] = {arguments!r}\n{textwrap.dedent(program)}"
    return _interpreter().run_code(code, Path.cwd(), dict(os.environ))


def test_environment():
    done = run(
        "--env=llvm-v0",
        "--observation=Ir",
        "--reward=IrInstructionCount",
        "--benchmark=benchmark://kernels-v0/fft",
        "--service_init_max_seconds=20",
        "--nproc=3",
        "--output_dir=out",
        "--episodes=7",
        "--episode_length=6",
        "--seed=5",
        "--learning_rate=0.5",
    )
    assert done.stdout.splitlines() == [
        "benchmark://kernels-v0/fft",
        "str IrInstructionCount",
        "False",
        "3 out 5 7 6",
        "0.5",
    ], done.stderr


def test_session():
    program = """
    from absl import app
    from compiler_gym.util.flags import benchmark_from_flags
    from compiler_gym.util.flags.env_from_flags import (
        connection_settings_from_flags, env_session_from_flags
    )

    def main(argv):
        settings = connection_settings_from_flags()
        print(settings.rpc_call_max_seconds, settings.init_max_attempts)
        with env_session_from_flags(benchmark_from_flags.benchmark_from_flags()) as env:
            env.reset()
            print(env.in_episode, env.service.opts.init_max_attempts)
            print(env.action_space.name, env.action_space.names.index("-mem2reg"))
        print(env.in_episode)

    app.run(main)
    """
    limits = ("--service_init_max_attempts=3", "--service_rpc_call_max_seconds=7")
    done = run("--env=llvm-v0", *limits, "--action_space=Legacy124", program=program)
    assert done.stdout == "7.0 3\nTrue 3\nLegacy124 103\nFalse\n", done.stderr


def test_the_id_sets_observation_and_reward(tmp_path):
    done = run("--env=llvm-autophase-ic-v0")
    lines = done.stdout.splitlines()
    assert lines[1] == "ndarray IrInstructionCountOz", done.stderr


def test_file(tmp_path):
    program = """
    import sys
    from pathlib import Path
    from absl import app
    from compiler_gym.envs.llvm import make_benchmark_from_source
    from compiler_gym.util.flags.benchmark_from_flags import benchmark_from_flags

    bitcode = make_benchmark_from_source("int x;", lang="c").proto.program.contents
    Path("program.bc").write_bytes(bitcode)
    sys.argv.append(f"--benchmark=file://{Path('program.bc').absolute()}")

    def main(argv):
        benchmark = benchmark_from_flags()
        print(benchmark.proto.program.contents == bitcode)
        print(str(benchmark).startswith("benchmark://file-v0/"))

    app.run(main)
    """
    done = run(program=f"import os\nos.chdir({str(tmp_path)!r})\n{textwrap.dedent(program)}")
    assert done.stdout == "True\nTrue\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "expected --env ID"),
        ("--nproc=0", "nproc"),
        ("--episodes=many", "episodes"),
        ("--env=llvm-v0 --action_space=Legacy", "Did you mean Legacy124"),
    ],
)
def test_wrong_values(arguments, message):
    done = run(*arguments.split())
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_absl_is_for_flags_alone():
    program = """
    import sys
    sys.modules |= {"absl": None, "tabulate": None}
    import compiler_gym.cli.app, compiler_gym.envs.llvm, compiler_gym.random_search
    for module in ("util.flags.nproc", "bin.validate", "leaderboard.llvm_instcount"):
        try:
            __import__(f"compiler_gym.{module}")
        except ImportError as error:
            print(error)
    """
    done = PreparedInterpreter().run_code(textwrap.dedent(program), Path.cwd(), dict(os.environ))
    expected = "absl is not installed; try \"pip install 'compiler_gym[gym]'\"\n" * 3
    assert (done.stdout, done.stderr) == (expected, "")
