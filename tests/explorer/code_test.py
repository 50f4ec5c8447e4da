"""Machine code, source lines and remarks of the explorer."""

from dataclasses import replace

import pytest

from compiler_gym.envs.llvm import make_benchmark
from compiler_gym.explorer.limits import LOCAL
from tests.explorer.conftest import Client, serving

SROA, INLINE, GVN = "function(sroa)", "cgscc(inline)", "function(gvn)"
SOURCE = """\
#include <cstring>
static int square(int x) {
  return x * x;
}
int twice(const char* text) {
  int y = square(strlen(text));
  return y + y;
}
"""


def request(client: Client, name: str, actions: list[str], source: str = SOURCE) -> dict:
    program = client.paste(source, "c++")
    return client.call(name, {"program": program, "actions": actions})


def test_code_has_the_sizes_that_are_measured(client):
    code = request(client, "code", [SROA])
    metrics = request(client, "metrics", [SROA])
    functions = {each["name"]: each for each in code["functions"]}
    assert {*functions} == {"_ZL6squarei", "_Z5twicePKc"}
    assert code["bytes"] == metrics["bytes"] > sum(each["bytes"] for each in functions.values())
    twice = functions["_Z5twicePKc"]
    assert twice["offsets"][0] == 0 and twice["offsets"] == sorted(twice["offsets"])
    assert len(twice["texts"]) == len(twice["offsets"])
    assert any("strlen" in text for text in twice["texts"])
    assert twice["texts"][-1].startswith("ret")
    assert twice["bytes"] == twice["offsets"][-1] + 1


@pytest.mark.parametrize("actions", [[], [SROA], [SROA, INLINE], ["default<Oz>"]])
def test_lines_of_ir_and_code(client, actions):
    ir = request(client, "path", actions)["ir"]
    code = {each["name"]: each for each in request(client, "code", actions)["functions"]}
    lines = request(client, "lines", actions)
    assert (lines["source"], lines["inexact"], lines["problem"]) == (SOURCE, [], None)
    text = ir[ir.index("define") :].split("}")[0].splitlines()
    (twice,) = [numbers for name, numbers in lines["ir"].items() if "twice" in name]
    assert any("strlen" in line for line, number in zip(text, twice, strict=False) if number == 6)
    assert any("ret" in line for line, number in zip(text, twice, strict=False) if number == 7)
    numbers = lines["code"]["_Z5twicePKc"]
    assert len(numbers) == len(code["_Z5twicePKc"]["texts"])
    assert {6, 7} <= {*numbers}


def test_lines_of_a_built_in_program(client):
    program = client.call("program", {"name": "bitops"})["id"]
    lines = client.call("lines", {"program": program, "actions": [SROA, INLINE]})
    assert "int main" in lines["source"]
    assert lines["inexact"] == []
    assert max(map(max, lines["ir"].values())) <= lines["source"].count("\n")


def test_lines_of_a_program_of_several_files(client, tmp_path):
    (tmp_path / "a.c").write_text("int g(int x);\nint f(int x) {\n  return g(x) * 2;\n}\n")
    (tmp_path / "b.cc").write_text('extern "C" int g(int x) {\n  return x + 1;\n}\n')
    benchmark = make_benchmark([tmp_path / "a.c", tmp_path / "b.cc"])
    program = client.bench.add(benchmark).message.id
    state = {"program": program, "actions": [INLINE]}
    lines = client.call("lines", state)
    text = lines["source"].split("\n")
    assert (lines["inexact"], lines["problem"]) == ([], None)
    shown = {name: {text[number - 1] for number in lines["ir"][name] if number} for name in "fg"}
    # The lines of the inlined function come from the other file.
    assert shown["f"] >= {"  return g(x) * 2;", "  return x + 1;"}
    assert shown["g"] >= {"  return x + 1;"}
    assert {text[number - 1] for number in lines["code"]["g"] if number} == {
        'extern "C" int g(int x) {',
        "  return x + 1;",
    }
    places = {each["message"]: each["line"] for each in client.call("remarks", state)["rows"]}
    (line,) = [line for message, line in places.items() if message.startswith("'g' inlined")]
    assert text[line - 1] == "  return g(x) * 2;"


def test_lines_need_a_source(client):
    program = client.paste("define i32 @f() {\n  ret i32 1\n}\n", "ir")
    lines = client.call("lines", {"program": program, "actions": []})
    assert lines["source"] is None and "open C or C++" in lines["problem"]
    assert client.call("remarks", {"program": program, "actions": [GVN]})["rows"] == []


def test_functions_that_debug_lines_change_are_left_out(client):
    program = client.paste("#ifdef X\nint f(int x) { return x; }\n#endif\n", "c", "-DX")
    known = client.bench.program(program).message.source
    # As if the compiler made something else of the source with debug lines.
    known.flags = "-DX=2 -Dx=3+0*x"
    known.text = "int f(int y) { return y + X; }\n"
    lines = client.call("lines", {"program": program, "actions": []})
    assert (lines["ir"], lines["inexact"]) == ({}, ["f"])


def test_remarks_have_lines(client):
    (row,) = request(client, "remarks", [SROA, INLINE])["rows"][-1:]
    assert row["kind"] == "passed"
    assert "inlined into" in row["message"] and "callsite" not in row["message"]
    assert (row["function"], row["line"]) == ("_Z5twicePKc", 6)
    assert request(client, "remarks", [])["rows"] == []


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"tool_seconds": 0.001}, "longer than 0.001 s"), ({"tool_mib": 1}, "more than 1 MiB")],
)
def test_tools_are_bounded(limits, message):
    with serving(replace(LOCAL, **limits)) as client:
        state = {"program": client.call("program", {"name": "bitops"})["id"], "actions": []}
        assert message in client.fails("code", state, code=429)


def test_slow_programs_are_refused():
    with serving(replace(LOCAL, compile_seconds=0.001)) as client:
        answer = client.call("program", {"name": "bitops"}, code=429)
        assert (answer["kind"], "0.001 seconds" in answer["message"]) == ("limit", True)
