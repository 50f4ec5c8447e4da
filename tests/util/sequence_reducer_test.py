import itertools

import pytest

from compiler_gym.util.sequence_reducer import reduce_sequence


@pytest.mark.parametrize("length", [1, 2, 3, 7, 40])
def test_finds_the_one_that_matters(length):
    for culprit in range(length):
        assert reduce_sequence(range(length), lambda part: culprit in part) == [culprit]  # noqa: B023


def test_finds_all_that_matter_together():
    for culprits in itertools.combinations(range(12), 3):
        reduced = reduce_sequence(range(12), lambda part: set(culprits) <= set(part))  # noqa: B023
        assert reduced == list(culprits)


def test_keeps_the_order():
    def is_wrong(part):
        return "".join(part).find("ba") >= 0

    assert reduce_sequence("aabbaab", is_wrong) == ["b", "a"]


def test_result_cannot_be_shortened():
    def is_wrong(part):  # 2 is needless only once 5 is gone.
        return 9 in part and (5 not in part or 2 in part)

    assert reduce_sequence(range(10), is_wrong) == [9]


def test_sequence_of_which_nothing_matters():
    assert reduce_sequence(range(5), lambda part: True) == []


def test_asks_few_questions():
    questions = []
    reduce_sequence(range(40), lambda part: questions.append(part) or {3, 30} <= set(part))
    assert len(questions) < 40


def test_sequence_that_is_right():
    with pytest.raises(ValueError, match="expected a sequence that fails"):
        reduce_sequence([1, 2], lambda part: False)
