"""Tables of text."""

import sys

import pytest

from compiler_gym.util.tabulate import tabulate

ROWS = [["a", 1], ["b, c", 2.5]]


def test_library():
    assert tabulate(ROWS, headers=("x", "y"), tablefmt="plain") == ("x       y\na     1\nb, c  2.5")
    assert tabulate(ROWS).startswith("+--")
    assert tabulate(ROWS, tablefmt="plain", floatfmt=".2f").endswith("2.50")


def test_tsv():
    assert tabulate(ROWS, ("x", "y"), "tsv") == "x\ty\na\t1\nb, c\t2.5"


def test_library_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "tabulate", None)
    with pytest.raises(ImportError, match=r"pip install 'compiler_gym\[gym\]'"):
        tabulate(ROWS)
    assert tabulate(ROWS, tablefmt="csv") == 'a,1\n"b, c",2.5'
