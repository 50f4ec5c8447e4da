"""The tools of agents still say what their file has."""

from tests.golden import agent_tools
from tests.golden.commands import check


def test_tools_of_agents():
    check(agent_tools.PATH, agent_tools.record())
