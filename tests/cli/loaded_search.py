"""Loads a search for small object files and its models, for processes that are copied."""

from compiler_gym.tuning.size import memory, optimizer, trial_linking  # noqa: F401
from compiler_gym.tuning.size.ranking import shipped_portfolio, shipped_ranking
from compiler_gym.tuning.size.shipped import shipped_digest

shipped_digest()
shipped_portfolio()
shipped_ranking()
