"""Evaluation of policies on held-out programs: the protocol behind ``compiler_gym.evaluate``."""

from compiler_gym.evaluation.protocol import evaluate, load_policy
from compiler_gym.evaluation.result import Evaluation, EvaluationRow

__all__ = ["Evaluation", "EvaluationRow", "evaluate", "load_policy"]
