"""Players without a model."""

import pytest

from compiler_gym.agents.baselines import PLAYERS, play, table
from compiler_gym.agents.tasks import Budget, tasks_of

TASK = tasks_of("test")[5]
BUDGETS = {"random": Budget(30, 130), "greedy": Budget(4, 1_000)}


@pytest.mark.parametrize("name", ["random", "greedy", "sequence"])
def test_player_keeps_to_the_budget(compiler, name):
    budget = BUDGETS.get(name, Budget(5, 300))
    result = play(TASK, PLAYERS[name], budget, compiler)
    assert 0 < result.reward < 2 and result.cost < 2613
    assert 1 < result.calls <= budget.calls and result.passes <= budget.passes
    rows = [*table({name: [result], "again": [result]})]
    assert rows[2].startswith(f"| sha256 | 1327 | {result.cost} (")
    assert {row.count("|") for row in rows} == {5}
