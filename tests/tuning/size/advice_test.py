"""Suggestions for a program and for a shared library, measured."""

import pytest

from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.advice import SUGGESTIONS, Adviser, Suggestion
from compiler_gym.tuning.size.trial_linking import LinkError

PARTS = {
    "main.c": "int used(int);\nint main(int n, char **p) { return used(n); }\n",
    "part.c": "int table[100] = {1};\n"
    "int used(int x) { return x * 7 / 3; }\n"
    "int unused(int x) { return table[x] * 11 / 5 + x / 13; }\n"
    "int twin(int x) { return x * 7 / 3; }\n",
}


@pytest.fixture(name="sources")
def fixture_sources(tmp_path):
    for name, text in PARTS.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in PARTS]


def suggestion(option):
    (found,) = (each for each in SUGGESTIONS if option in each.options.split())
    return found


def test_a_program(sources, tmp_path):
    adviser = Adviser(sources, ["-DNDEBUG"], tmp_path, jobs=2)
    assert not adviser.is_library and adviser.level == "-Oz"
    tables, sections, lto, same = map(
        adviser.measure,
        map(
            suggestion,
            ("-fno-asynchronous-unwind-tables", "-Wl,--gc-sections", "-flto", "-Wl,--icf=all"),
        ),
    )
    assert tables.before == adviser.size() and tables.saved > 0
    # What nobody needs goes: at least the table of 400 bytes.
    assert sections.saved > 400 and lto.saved > 400
    assert 0 < same.saved < sections.saved


def test_a_shared_library(sources, tmp_path):
    adviser = Adviser(sources[1:], [], tmp_path)
    assert adviser.is_library
    assert adviser.measure(suggestion("-fvisibility=hidden")).saved > 0
    # Others may call all of it.
    assert abs(adviser.measure(suggestion("-Wl,--gc-sections")).saved) < 400


def test_the_options_of_the_user(sources, tmp_path):
    small, large = (Adviser(sources, [level], tmp_path) for level in ("-Oz", "-O0"))
    assert small.size().loaded < large.size().loaded and large.level == "-O0"


def test_a_failed_measurement_names_the_cause(sources, tmp_path):
    adviser = Adviser(sources, [], tmp_path)
    measured = adviser.measure(Suggestion((), ("-Wl,--no-such-option",), "none"))
    assert measured.saved is None and "--no-such-option" in measured.why
    assert "--link" not in measured.why
    with pytest.raises(LinkError, match=r"undefined reference to `used'"):
        Adviser(sources[:1], [], tmp_path).size()
    with pytest.raises(LinkError, match="no-such-library"):
        Adviser(sources, [], tmp_path, ("-lno-such-library", *LIBRARIES)).size()
    sources[0].write_text("int main(void) { return x; }\n")
    with pytest.raises(BenchmarkInitError, match="undeclared identifier 'x'"):
        Adviser(sources, [], tmp_path).size()
