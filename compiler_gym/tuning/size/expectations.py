"""Expectations about changes of one source, and the decisions that follow from them at once."""

from collections.abc import Mapping, Sequence

from compiler_gym.tuning.size.call_gains import CallFeatures
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.function_gains import function_features
from compiler_gym.tuning.size.inlining import Inlining
from compiler_gym.tuning.size.moves import LocalMove
from compiler_gym.tuning.size.ranking import Belief, Ranking, ir_features, object_features


class Expectations:
    """The expectations.

    Args:
        ranking: The model.
        baseline: What clang makes without a change.
        properties: Counts of the functions before any pass.
        inlining: The calls of the source.
        functions: The numbers of the functions by name.
        adjustments: The adjustments of functions that are allowed.
    """

    def __init__(
        self,
        ranking: Ranking,
        baseline: Evaluation,
        properties: Mapping[str, Mapping[str, int]],
        inlining: Inlining,
        functions: Mapping[str, int],
        adjustments: Sequence[str],
    ):
        self._ranking = ranking
        self._baseline = baseline
        self._properties = properties
        self._inlining = inlining
        self._functions = functions
        self._adjustments = adjustments
        self._gains = ranking.functions.expected(
            function_features(baseline.object, properties), adjustments
        )
        self._chosen: list[LocalMove] = []
        self._others: list[LocalMove] = []

    def belief(self) -> Belief:
        """Returns what is expected of sets of options."""
        features = object_features(self._baseline.object, self._baseline.loaded)
        return self._ranking.belief(features | ir_features(self._properties.values()))

    def decide(self, change: Change) -> list[LocalMove]:
        """Chooses the decisions about calls and functions that are expected to save anything.

        Args:
            change: The options with which LLVM decides about calls otherwise.
        """
        self._chosen, self._others = [], []
        self._choose_calls(change)
        self._choose_adjustments()
        return self._chosen

    def local_moves(self, before: Mapping[str, int], after: Mapping[str, int]) -> list[LocalMove]:
        """Returns more moves, the most promising first.

        Chosen decisions whose functions got larger are taken back first.

        Args:
            before: What each function has of what is to be small, without a change.
            after: The same with the chosen decisions.
        """
        harmful = [each for each in self._chosen if each.saved(before, after) < 0]
        return [*map(_taken_back, harmful), *self._others]

    def _choose_calls(self, change: Change) -> None:
        decided = self._inlining.decided(change)
        decisions = self._inlining.of_callees(decided)
        features = CallFeatures(self._inlining, decided, self._baseline.object, self._properties)
        gains = self._ranking.calls.expected([features.of(each) for each in decisions])
        met: set[str] = set()
        order = sorted(zip(gains, decisions, strict=True), key=lambda it: -it[0])
        for gain, each in order:
            is_chosen = gain > 0 and each.callee not in met
            (self._chosen if is_chosen else self._others).append(each.move)
            if is_chosen:
                met.add(each.callee)

    def _choose_adjustments(self) -> None:
        for name, index in self._functions.items():
            gains = self._gains.get(name, {})
            texts = tuple(text for text, gain in gains.items() if gain > 0)
            if texts:
                self._chosen.append(LocalMove(frozenset([name]), {}, {index: texts}))
            others = [text for text in self._adjustments if text not in texts]
            self._others += (
                LocalMove(frozenset([name]), {}, {index: (text,)})
                for text in sorted(others, key=lambda text: -gains.get(text, 0))
            )


def _taken_back(move: LocalMove) -> LocalMove:
    # Adjustments that a function has are taken away.
    calls = {index: not inline for index, inline in move.calls.items()}
    return LocalMove(move.functions, calls, move.adjustments)
