import numpy as np
import pytest

from compiler_gym.errors import SessionLost
from compiler_gym.wrappers import ActionMask, ConstrainedCommandline, ForkOnStep

# The first changes the program once, the second never.
MEM2REG, DIV_REM, SIMPLIFY = range(3)


@pytest.fixture
def env(small):
    few = ConstrainedCommandline(small, ["mem2reg", "div-rem-pairs", "instsimplify"])
    with ActionMask(few) as env:
        env.reset()
        yield env


def test_idle_actions_until_the_program_changes(env):
    info = env.step(DIV_REM)[3]
    assert info["action_had_no_effect"]
    assert info["action_mask"].tolist() == [True, False, True]
    info = env.step(MEM2REG)[3]
    assert not info["action_had_no_effect"]
    assert info["action_mask"].all()
    env.step(MEM2REG)
    assert env.action_masks().tolist() == [False, True, True]
    env.step(DIV_REM)
    assert env.action_masks().tolist() == [False, False, True]
    env.multistep([])
    assert env.action_masks().tolist() == [False, False, True]
    env.reset()
    assert env.action_masks().all()


def test_there_is_always_a_choice(env):
    env.multistep([MEM2REG, SIMPLIFY])
    env.multistep([MEM2REG, SIMPLIFY, DIV_REM])
    assert env.action_masks().all()


def test_masked_actions_do_nothing(small):
    """The mask is right after any sequence of actions."""
    env = ActionMask(small)
    env.reset()
    env.action_space.seed(0)
    for _ in range(60):
        env.step(env.action_space.sample())
        masked = np.flatnonzero(~env.action_masks()).tolist()
        with env.fork() as fork:
            assert not masked or fork.multistep(masked)[3]["action_had_no_effect"]


def test_changes_by_other_means(env):
    env.step(DIV_REM)
    env.unwrapped.step("mem2reg")
    assert env.action_masks().all()
    with ActionMask(ForkOnStep(env.env)) as undoing:
        undoing.reset()
        undoing.step(MEM2REG)
        undoing.step(MEM2REG)
        assert not undoing.action_masks()[MEM2REG]
        undoing.undo()
        undoing.undo()
        assert undoing.action_masks().all()


def test_refused_actions(env):
    env.step(DIV_REM)
    with pytest.raises(ValueError, match="not in the action space"):
        env.step(3)
    assert env.action_masks().tolist() == [True, False, True]


def test_recovered(env):
    env.unwrapped.recover = True
    info = env.step(MEM2REG, timeout=1e-6)[3]
    assert info["recovered"]
    assert info["action_mask"].tolist() == [False, True, True]
    assert env.step(DIV_REM)[3]["action_mask"].tolist() == [False, False, True]


def test_recovered_from_a_kill(env, monkeypatch):
    """For which the action is not to blame."""

    def lose(*_):
        raise SessionLost("The session was lost: its process was ended by signal 9")

    env.unwrapped.recover = True
    monkeypatch.setattr(env.unwrapped._sessions.session, "step", lose)
    info = env.step(MEM2REG)[3]
    assert (info["recovered"], info["error_type"]) == (True, "SessionLost")
    assert info["action_mask"].all()
