"""Pages of text, tables, and parts of textual IR."""

import pytest

from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.texts import (
    blocks_of,
    function_names,
    function_text,
    kept_symbols,
    page,
)

MODULE = """\
source_filename = "x.c"
@shared = dso_local global i32 0, align 4
@"odd name" = weak constant i32 1
@hidden = internal global i32 0
@elsewhere = external global i32
@other = alias i32, ptr @shared

declare i32 @printf(ptr, ...)

define dso_local range(i32 0, 2) { i32, ptr } @pair(i32 %0) #0 {
  ret { i32, ptr } zeroinitializer
}

define internal i32 @own(i32 %0) personality ptr @printf {
  br i1 false, label %2, label %"3 a"

2:
  switch i32 %0, label %"3 a" [
    i32 1, label %2
  ]

"3 a":
  %x = tail call i32 @own(i32 1)
  ret i32 %x
}

define linkonce_odr void @template() {
  ret void
}
"""


def test_symbols_that_others_may_use():
    assert kept_symbols(MODULE) == {"shared", "odd name", "other", "pair"}


def test_functions():
    assert function_names(MODULE) == ["pair", "own", "template"]
    text = function_text(MODULE, "own")
    assert text.startswith("define internal i32 @own(") and text.endswith("\n}")
    with pytest.raises(AgentError, match="Did you mean pair"):
        function_text(MODULE, "pari")


def test_blocks():
    blocks = [*blocks_of(function_text(MODULE, "own"))]
    assert [(each.name, dict(each.opcodes), each.successors) for each in blocks] == [
        ("entry", {"br": 1}, ["2", "3 a"]),
        ("2", {"switch": 1}, ["3 a", "2"]),
        ("3 a", {"call": 1, "ret": 1}, []),
    ]


def test_pages_are_the_whole_text():
    text = "".join(f"line {number}\n" for number in range(100))
    seen, offset = "", 0
    while True:
        answer = page(text, 200, offset)
        part, _, rest = answer.partition("\n[characters ")
        assert len(part) <= 200
        seen += part + "\n"
        if not rest:
            break
        offset = int(rest.rpartition("=")[2].rstrip("]"))
    assert seen.strip() == text.strip()
    for wrong in (-1, len(text)):
        with pytest.raises(AgentError, match="offset"):
            page(text, 200, wrong)


def test_error_in_one_line():
    assert text_of(OSError(28, "No space left on device")) == "[Errno 28] No space left on device"
    assert text_of(KeyError("no\nname")) == "no name"
