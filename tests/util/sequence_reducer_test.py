import pytest

from compiler_gym.util.sequence_reducer import reduce_sequence


@pytest.mark.parametrize("length", [1, 2, 3, 7, 40])
def test_finds_the_one_that_matters(length):
    for culprit in range(length):
        assert reduce_sequence(range(length), lambda part: culprit in part) == [culprit]  # noqa: B023


def test_result_cannot_be_shortened():
    def is_wrong(part):  # 2 is needless only once 5 is gone.
        return 9 in part and (5 not in part or 2 in part)

    assert reduce_sequence(range(10), is_wrong) == [9]


def test_asks_few_questions():
    questions = []
    reduce_sequence(range(40), lambda part: questions.append(part) or {3, 30} <= set(part))
    assert len(questions) < 40
