"""The Python of the README, and what the documents of CompilerGym 0.2 show, run as they stand."""

import importlib.util
import re

import pytest

from tests.document_code import block_with, code_blocks, run_python

BLOCKS = code_blocks("README.md", "python")

needs_gym = pytest.mark.skipif(
    importlib.util.find_spec("gym") is None, reason="gym is not installed"
)

# How episodes were written for CompilerGym 0.2. %s takes a step at random.
EPISODE = """
rewards = []
done = False
while not done and len(rewards) < 100:
    %s
    rewards.append(reward)
    print(f"{len(rewards)} steps: {sum(rewards):+.1%%}")
"""


def test_every_block_is_tested():
    assert len(BLOCKS) == 3


def test_ten_lines(tmp_path):
    output = run_python(block_with("for _ in range(100)", BLOCKS), tmp_path)
    assert re.match(r"-?[\d.]+% of what -Oz saves: opt .*-passes='module\(", output), output


@needs_gym
def test_classic_interface(tmp_path):
    bitcode = tmp_path / "program.bc"
    block = block_with("gym.make(", [block for block in BLOCKS if "import gym\n" in block])
    assert '"/tmp/program.bc"' in block
    output = run_python(block.replace("/tmp/program.bc", str(bitcode)), tmp_path)
    assert output.startswith("; ModuleID = ")
    assert re.search(r"^\d+ -?[\d.]+$", output.splitlines()[-1])
    assert bitcode.read_bytes()[:2] == b"BC"


def test_your_own_programs(tmp_path):
    (tmp_path / "program.c").write_text("int main() { return 7; }\n")
    before = "import compiler_gym\nenv = compiler_gym.make('llvm-v0')\n"
    after = "print(env.observation['IrInstructionCountOz'])\nenv.close()\n"
    output = run_python(before + block_with('"program.c"', BLOCKS) + after, tmp_path)
    assert output == "1\n"


def steps(output: str) -> list[str]:
    return re.findall(r"^\d+ steps: [-+][\d.]+%$", output, re.M)


@pytest.mark.parametrize(
    ("library", "arguments", "results", "shown"),
    [
        pytest.param("gym", "", "done", "; ModuleID = ", marks=needs_gym),
        (
            *("gymnasium", ', render_mode="human"', "terminated, truncated"),
            "benchmark://kernels-v0/sha256\n",
        ),
    ],
)
def test_documented_episode(tmp_path, library, arguments, results, shown):
    begin = (
        f"import {library}; import compiler_gym; "
        f'env = {library}.make("llvm-autophase-ic-v0"{arguments}); '
        "env.reset(); env.render(); env.step(env.action_space.sample())\n"
    )
    step = f"observation, reward, {results}, info = env.step(env.action_space.sample())"
    step += f"; done = any([{results}])"
    end = 'env.write_bitcode("program.bc")\nenv.close()\n'
    output = run_python(begin + EPISODE % step + end, tmp_path)
    assert output.startswith(shown)
    assert len(steps(output)) == 100
    assert (tmp_path / "program.bc").read_bytes()[:2] == b"BC"
