"""Import path of 0.2.5 for these."""

from compiler_gym.compat.random_agents import (
    RandomAgentWorker,
    RandomSearchProgressLogEntry,
    replay_actions_from_logs,
    search,
)

__all__ = [
    "RandomAgentWorker",
    "RandomSearchProgressLogEntry",
    "replay_actions_from_logs",
    "search",
]
