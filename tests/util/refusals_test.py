"""Arguments that the helpers refuse."""

import pytest

from compiler_gym.util.debug_util import get_debug_level
from compiler_gym.util.download import download
from compiler_gym.util.executor import Executor
from compiler_gym.util.permutation import (
    convert_number_to_permutation,
    convert_permutation_to_number,
)
from compiler_gym.util.sequence_reducer import reduce_sequence
from compiler_gym.util.statistics import compare_paired_runtimes, compare_runtimes
from compiler_gym.util.tabulate import tabulate
from compiler_gym.util.truncate import truncate

NAN = float("nan")

REFUSED = [
    *(lambda n=n: convert_number_to_permutation(n, 3) for n in (-1, 6)),
    *(lambda each=each: convert_permutation_to_number(each) for each in ([0, 0], [1, 2], [-1, 0])),
    lambda: truncate("abc", max_line_len=2),
    lambda: truncate("abc", max_lines=0),
    lambda: tabulate([["a", 1]], tablefmt="cvs"),
    lambda: Executor(type="cloud"),
    lambda: Executor(type="local", cpus=0),
    lambda: Executor(),
    lambda: reduce_sequence([1, 2], lambda part: False),
    *(
        lambda bad=bad: compare_runtimes(bad, [1, 2])
        for bad in ([], [1], [1, 0], [1, -1], [1, NAN])
    ),
    lambda: compare_runtimes([1, 2], [1]),
    lambda: compare_paired_runtimes([1, 2, 3], [1, 2]),
    lambda: compare_paired_runtimes([1, 2], [1, 2], confidence=2),
    lambda: download([]),
    get_debug_level,
]


@pytest.mark.parametrize("ask", REFUSED)
def test_refused(monkeypatch, ask):
    monkeypatch.setenv("COMPILER_GYM_DEBUG", "verbose")
    with pytest.raises(ValueError):
        ask()
