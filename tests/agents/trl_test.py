"""The class that TRL's trainers make environments of."""

import inspect
import re

import pytest

from compiler_gym.agents.trl import CompilerTask

TOOLS = {
    name: method
    for name, method in inspect.getmembers(CompilerTask, inspect.isfunction)
    if not name.startswith("_") and name not in ("reset", "get_reward")
}


@pytest.fixture
def task():
    task = CompilerTask()
    yield task
    if task._episode:
        task._episode.close()


@pytest.mark.parametrize("name", TOOLS)
def test_each_public_method_is_a_tool(name):
    """As Transformers wants it: a type for each argument, and a line in the docstring."""
    documented = re.findall(r"^    (\w+): ", inspect.getdoc(TOOLS[name]), re.M)
    _, *parameters = inspect.signature(TOOLS[name]).parameters.values()
    assert documented == [each.name for each in parameters]
    for each in parameters:
        assert each.annotation is not inspect.Parameter.empty


def test_episode(task):
    text = task.reset(prompt=[{"role": "user", "content": "Go."}], split="test", index=5)
    assert "kernels-v0/sha256" in text
    assert "Did you mean sroa" in task.apply_passes(["sroaa"])
    task.apply_passes(["sroa", "early-cse"])
    task.undo(1)
    assert "applied: early-cse" in task.try_sequences([["early-cse"], ["reg2mem"]], True)
    assert "gvn: " in task.list_passes("gvn")
    assert "sha1_compress" in task.function_sizes()
    assert "@main(" in task.read_function("main")
    assert "early-cse" in task.remarks()
    before = CompilerTask.seconds
    reward = task.get_reward()
    assert 0.9 < reward < 1.1 and CompilerTask.seconds > before
    assert task.get_reward() == reward
    assert "has ended" in task.apply_passes(["gvn"])


def test_random_program_and_no_program(task):
    with pytest.raises(RuntimeError, match="expected reset"):
        task.submit()
    task.reset(split="test", index=5)
    assert "reward 0.0000" in task.submit()
