"""Evaluation of policies on held-out programs: the protocol behind ``compiler_gym.evaluate``."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.evaluation.policies import load_policy
    from compiler_gym.evaluation.protocol import evaluate
    from compiler_gym.evaluation.result import Comparison, Evaluation
    from compiler_gym.evaluation.rows import EvaluationRow

__all__ = ["Comparison", "Evaluation", "EvaluationRow", "evaluate", "load_policy"]

_MODULES = {
    "Comparison": ".result",
    "Evaluation": ".result",
    "EvaluationRow": ".rows",
    "evaluate": ".protocol",
    "load_policy": ".policies",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
