"""The memory of searches: an edited source starts from what its former version wanted."""

import json
import os
from dataclasses import replace

import pytest

from compiler_gym.tuning.size import memory as memory_module
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.inlining import CallSite
from compiler_gym.tuning.size.memory import Memory, open_memory, recall, recipe_of
from compiler_gym.tuning.size.moves import Function
from tests.tuning.size.conftest import searched

_SOURCE = """
static unsigned work(unsigned x) {
  unsigned sum = 0;
  for (int i = 0; i < 100; i++) sum = (sum ^ (x >> i % 32)) * 31u + (sum << 7 | sum >> 25);
  return sum;
}
static unsigned twice(unsigned x) { return work(x) ^ work(x + 2); }
int first(int x) { return twice(x) + work(x + 1) * work(x * 5); }
int second(int x) { return work(twice(x)) - first(x); }
int third(int* v, int n) { int s = 0; for (int i = 0; i < n; i++) s += v[i] * first(i); return s; }
"""
# Renumbers all functions and calls after it.
_ADDED = "int added(int x) { return x / 7; }\n"


def call_site(index, caller, callee, size):
    local = callee != "f"
    return CallSite(index, caller, callee, local, local, size, 1, 0, 0, 0)


_FUNCTIONS = [Function(0, "f", "aa"), Function(1, "g", "bb"), Function(2, "main", "cc")]
_SITES = [call_site(0, "f", "g", 5), call_site(1, "f", "g", 5), call_site(4, "main", "f", 9)]
_CHANGE = Change(
    options=("-enable-ipra",),
    passes=("set-attribute<tune-cpu=nocona>",),
    calls=((0, True), (1, False), (4, False)),
    functions=((1, ("gvn",)), (2, ("dse", "gvn"))),
    sequence=("sroa",),
)


@pytest.fixture(name="search")
def fixture_search(start, compilation, source, tmp_path):
    """Searches for a smaller object file of a text, with a memory or without."""
    source.write_text(_SOURCE)

    def search(text, evaluations, has_memory=True):
        source.write_text(text)
        memory = Memory(tmp_path / "memory", compilation, "all") if has_memory else None
        found = searched(start(compilation, evaluations=evaluations), memory=memory)
        found.minimise(with_costs=False)
        found.remember()
        return found

    return search


def size(search):
    return search.size(search.best)


@pytest.fixture(name="unit")
def fixture_unit(tmp_path):
    path = tmp_path / "unit.bc"
    path.write_text("unit")
    return path


def test_decisions_follow_functions_and_calls_to_their_new_numbers():
    recipe = recipe_of(_CHANGE, _FUNCTIONS, _SITES, True)
    names = {"added": "dd", "main": "edited", "renamed": "bb", "f": "aa"}
    functions = [Function(index, *each) for index, each in enumerate(names.items())]
    calls = [(2, "added", "renamed", 5), (3, "main", "f", 9), (7, "f", "g", 5)]
    recalled = recall(recipe, functions, [call_site(*each) for each in calls])
    adjusted = ((1, ("dse", "gvn")), (2, ("gvn",)))
    expected = replace(_CHANGE, calls=((3, False), (7, True)), functions=adjusted)
    assert recalled.change == expected
    assert (recalled.same, recalled.functions) == (2, 4)
    recalled = recall(recipe, _FUNCTIONS, _SITES)
    assert recalled.change == _CHANGE
    assert (recalled.same, recalled.functions, recalled.is_past_portfolio) == (3, 3, True)


def test_recipes_are_kept_for_the_next_version(tmp_path, compilation):
    recipe, other = (recipe_of(each, _FUNCTIONS, _SITES, False) for each in (_CHANGE, Change()))
    units = tmp_path / "1.bc", tmp_path / "2.bc"
    for number, unit in enumerate(units):
        unit.write_text(str(number))
    memory = Memory(tmp_path / "memory", compilation, "all")
    assert memory.start(units[0]) is None
    memory.keep(units[0], None, recipe, 100)
    assert memory.start(units[0]) is None  # It has not changed.
    assert memory.start(units[1]) == recipe
    memory.keep(units[1], recipe, other, 90)
    memory.keep(units[1], recipe, recipe, 95)  # This is no better.
    assert memory.start(units[1]) == recipe
    assert memory.start(units[0]) == other
    assert Memory(tmp_path / "memory", compilation, "text").start(units[1]) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"found": {}}', '{"found": {"options": 3}}'])
def test_damaged_file_is_no_memory(tmp_path, compilation, unit, text):
    memory = Memory(tmp_path / "memory", compilation)
    memory.keep(unit, None, recipe_of(Change(), [], [], False), 100)
    (path,) = (tmp_path / "memory").iterdir()
    path.write_text(text)
    assert memory.start(unit) is None
    (tmp_path / "other.bc").write_text("other")
    assert memory.start(tmp_path / "other.bc") is None


def test_folder_that_cannot_be_written_is_no_error(unit, compilation, monkeypatch):
    memory = Memory(unit / "memory", compilation)
    memory.keep(unit, None, recipe_of(Change(), [], [], True), 100)
    assert memory.start(unit) is None
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(unit / "cache"))
    assert open_memory(compilation) is None


def test_oldest_files_are_forgotten(tmp_path, compilation, unit, monkeypatch):
    monkeypatch.setattr(memory_module, "_MAX_FILES", 2)
    folder = tmp_path / "memory"
    kept = []
    for number in range(3):
        memory = Memory(folder, compilation, str(number))
        memory.keep(unit, None, recipe_of(Change(), [], [], True), 100)
        (new,) = {*folder.iterdir()}.difference(kept)
        os.utime(new, (number, number))
        kept.append(new)
    assert {*folder.iterdir()} == {*kept[1:]}


def test_edited_source_recalls_its_unchanged_functions(search):
    first = search(_SOURCE, 20)
    gain = size(first) / first.size(first.baseline)
    assert first.recalled is None and gain < 0.95
    edited = _ADDED + _SOURCE.replace("x + 2", "x + 3")
    without, warm = search(edited, 6, has_memory=False), search(edited, 6)
    assert size(warm) <= size(without)
    assert (warm.recalled.same, warm.recalled.functions) == (4, 6)
    # The first evaluation has most of the gain.
    assert warm.stages[0].name == "memory" and warm.stages[0].evaluations == 1
    before = warm.size(warm.baseline)
    assert before - warm.stages[0].size >= 0.8 * (1 - gain) * before
    assert "portfolio" not in {each.name for each in warm.stages}
    # Again, and with nothing else changed: the same.
    assert search(edited, 6).best.object.digest == warm.best.object.digest


def test_memory_keeps_the_result_of_an_unchanged_source(search, tmp_path):
    digests = {search(_SOURCE, 3).best.object.digest for _ in range(2)}
    assert digests == {search(_SOURCE, 3, has_memory=False).best.object.digest}
    (path,) = (tmp_path / "memory").iterdir()
    assert json.loads(path.read_text())["start"] is None
    # A search without evaluations has nothing to keep.
    former = path.read_text()
    search(_ADDED + _SOURCE, 0)
    assert path.read_text() == former


def test_memory_that_is_no_gain_leaves_the_search_as_it_is(search, source, compilation, tmp_path):
    search(_SOURCE, 4)
    (path,) = (tmp_path / "memory").iterdir()
    facts = json.loads(path.read_text())
    facts["found"] |= {"options": ["-no-such-option"], "is_past_portfolio": True}
    path.write_text(json.dumps(facts))
    found = search(_ADDED + _SOURCE, 4)
    assert found.recalled is not None
    assert [each.name for each in found.stages][:2] == ["memory", "portfolio"]
