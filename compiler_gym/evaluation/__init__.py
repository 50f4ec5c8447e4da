"""Evaluation of policies on held-out programs: the protocol behind ``compiler_gym.evaluate``."""

from compiler_gym.evaluation.protocol import evaluate, load_policy
from compiler_gym.evaluation.result import Comparison, Evaluation
from compiler_gym.evaluation.rows import EvaluationRow

__all__ = ["Comparison", "Evaluation", "EvaluationRow", "evaluate", "load_policy"]
