import pytest

from compiler_gym.util.env_spec import EnvSpec
from compiler_gym.wrappers import TimeLimit


def test_limit(small):
    env = TimeLimit(small, max_episode_steps=3)
    for _ in range(2):  # The reset begins anew.
        env.reset()
        for i in range(3):
            *_, done, info = env.step(0)
            assert done == (i == 2)
        assert info["TimeLimit.truncated"]
    with pytest.warns(UserWarning, match="3 steps") as warned:
        *_, done, info = env.step(0)
        env.step(0)
    assert len(warned) == 1
    assert done
    assert info["TimeLimit.truncated"]
    env.reset()
    env.step(0)


def test_episode_that_has_ended_by_itself(small, monkeypatch):
    def fail(actions, *args, **kwargs):
        return None, None, True, {"error_type": "SessionDied"}

    env = TimeLimit(small, max_episode_steps=1)
    env.reset()
    monkeypatch.setattr(small, "multistep", fail)
    *_, done, info = env.step(0)
    assert done
    assert info["TimeLimit.truncated"] is False


def test_fork_goes_on_counting(small):
    env = TimeLimit(small, max_episode_steps=3)
    env.reset()
    env.multistep([0, 0])
    with env.fork() as fork:
        assert fork.step(0)[2]
        with fork.fork() as second:
            second.reset()
            assert not second.step(0)[2]
    assert env.step(0)[2]


def test_limit_of_the_specification(small):
    small.spec = EnvSpec("limited-v0", "nowhere:LlvmEnv", max_episode_steps=2)
    env = TimeLimit(small)
    env.reset()
    assert [env.step(0)[2] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("limit", [None, 0, -1, float("nan")])
def test_no_limit(small, limit):
    with pytest.raises(ValueError, match="positive max_episode_steps"):
        TimeLimit(small, limit)
