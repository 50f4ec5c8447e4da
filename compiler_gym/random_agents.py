"""The path by which programs written for former releases import these."""

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
