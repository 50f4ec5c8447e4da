"""Many environments at once."""

from concurrent.futures import ThreadPoolExecutor

from tests.service.toy_service import make_toy_env

APPEND_A = 3


def play(number: int) -> str:
    with make_toy_env(observation_space="text") as env:
        for _ in range(3):
            env.reset()
            env.multistep([APPEND_A] * number)
            with env.fork() as fork:
                fork.step(APPEND_A)
        return env.observation["text"]


def test_services_are_started_and_used_by_many_threads(capfd):
    """Starting a process while other threads are inside of gRPC must not upset the latter."""
    with ThreadPoolExecutor(8) as executor:
        texts = list(executor.map(play, range(24)))
    assert texts == ["hello" + "a" * number for number in range(24)]
    assert capfd.readouterr() == ("", "")


def test_environments_on_one_service():
    with make_toy_env(observation_space="text") as env:
        env.reset()
        forks = [env.fork() for _ in range(8)]
        with ThreadPoolExecutor(8) as executor:
            list(executor.map(lambda fork: [fork.step(APPEND_A) for _ in range(50)], forks))
        assert {fork.observation["text"] for fork in forks} == {"hello" + "a" * 50}
        for fork in forks:
            fork.close()
