"""Tests of reports on saved bytes."""

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size import object_file
from compiler_gym.tuning.size.object_file import compare_functions, readable_names


def test_functions_are_sorted_by_change_of_size():
    before = {"same": 5, "less": 30, "gone": 20, "more": 7}
    after = {"same": 5, "less": 10, "more": 9, "OUTLINED_FUNCTION_0": 3, "OUTLINED_FUNCTION_12": 4}
    changes = [(each.name, each.before, each.after) for each in compare_functions(before, after)]
    assert changes == [
        ("gone", 20, 0),
        ("less", 30, 10),
        ("OUTLINED_FUNCTION_…", 0, 7),
        ("more", 7, 9),
    ]
    assert [each.saved for each in compare_functions(before, after)] == [20, 20, -7, -2]
    assert compare_functions(before, before) == []


def test_names(monkeypatch):
    symbols = ["main", "_Z5wordsRi", "OUTLINED_FUNCTION_…", "_ZN1a1bEv"]
    assert readable_names(symbols) == ["main", "words(int&)", "OUTLINED_FUNCTION_…", "a::b()"]
    assert readable_names([]) == []

    def missing(name):
        raise EnvironmentNotSupported(name)

    monkeypatch.setattr(object_file.llvm_tools, "tool_path", missing)
    assert readable_names(symbols) == symbols
