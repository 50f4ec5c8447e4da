from compiler_gym.wrappers import Counter


def test_counters(small):
    env = Counter(small)
    assert env.counters == {"close": 0, "reset": 0, "step": 0, "fork": 0}
    env.reset()
    env.step(0)
    env.multistep([0, 0])
    env.reset()
    assert env.counters == {"close": 0, "reset": 2, "step": 3, "fork": 0}
    with env.fork() as fork:
        assert fork.counters == env.counters == {"close": 0, "reset": 2, "step": 3, "fork": 1}
        fork.step(0)
        assert (fork.counters["step"], env.counters["step"]) == (4, 3)
    assert (fork.counters["close"], env.counters["close"]) == (1, 0)
    env.close()
    assert env.counters["close"] == 1
