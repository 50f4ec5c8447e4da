"""Episodes of tasks."""

import pytest

from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.tasks import Budget, Episode, choose_task, tasks_of
from compiler_gym.errors import SessionDied

GOOD = ["sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "simplifycfg"]


@pytest.fixture
def play(compiler):
    episodes = []

    def make(index=5, **budget):
        episodes.append(Episode(choose_task("test", index), Budget(**budget), compiler))
        return episodes[-1]

    yield make
    for episode in episodes:
        episode.close()


def test_tasks():
    tasks = tasks_of("test")
    assert [each.index for each in tasks] == [*range(7)]
    assert tasks[5].program.endswith("/sha256")
    assert choose_task("train", seed=1) == choose_task("train", seed=1)
    assert len({choose_task("train", seed=seed).index for seed in range(20)}) > 3
    programs = [{each.program for each in tasks_of(split)} for split in ("train", "test")]
    assert not programs[0] & programs[1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"split": "exam"},
        {"index": 99},
        {"index": -1},
        {"index": "1"},
        {"index": 1.5},
        {"objective": "cycles"},
    ],
)
def test_missing_task(arguments):
    with pytest.raises(AgentError, match=r"expected (split|index|objective)"):
        choose_task(**arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("list_passes", {"search": 3}), ("apply_passes", {})]
)
def test_wrong_types_are_answered(play, tool, arguments):
    episode = play()
    answer = episode.call(tool, **arguments)
    assert answer.is_error and f"expected the arguments of {tool}" in answer.text


def test_reward_is_verified(play):
    episode = play()
    assert "below -Oz" in episode.first_text
    assert episode.call("apply_passes", passes=GOOD).reward is None
    answer = episode.call("submit")
    assert answer.done and answer.reward == episode.bench.score() > 0.9
    assert episode.verdict.has_run


def test_last_call_submits(play):
    episode = play(calls=2)
    assert not episode.call("apply_passes", passes=GOOD).done
    answer = episode.call("compare")
    assert answer.done and "verified; reward" in answer.text


def test_budget_of_passes(play):
    episode = play(passes=8)
    assert not episode.call("try_sequences", sequences=[GOOD]).is_error
    answer = episode.call("apply_passes", passes=GOOD)
    assert answer.is_error and "budget of 8 passes is spent" in answer.text
    assert episode.bench.passes == (*GOOD[:2],)


def test_lost_session_is_restored(play, monkeypatch):
    def fail():
        raise SessionDied("killed")

    episode = play()
    episode.call("apply_passes", passes=["sroa"])
    session = episode.bench._branch().env
    monkeypatch.setattr(episode.bench, "compare", fail)
    answer = episode.call("compare")
    assert answer.is_error and answer.text == "Error: the compiler failed: killed. Try again"
    assert episode.bench._branch().env is session and episode.bench.cost() == 1536
    monkeypatch.setattr(episode.bench, "verdict", fail)
    answer = episode.call("submit")
    assert answer.reward == 0 and "NOT verified: the compiler failed: killed" in answer.text
