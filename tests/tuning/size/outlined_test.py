"""The parts of outlined code."""

from dataclasses import replace

import pytest

from compiler_gym.tuning.changes.targets import TARGETS
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.outlined import OUTLINED
from compiler_gym.util.commands import run_command

_BLOCK = "p[0] = n * 77; p[1] = n ^ 345; p[2] = n | 9; p[3] = n - 543; p[4] = n * 99; "
_BODIES = [*(f"{_BLOCK} g({k}); {_BLOCK}" for k in range(3)), "g(n);"]
_SOURCE = "void g(int); " + "".join(
    f"void f{k}(int *p, int n) {{ {body} }}" for k, body in enumerate(_BODIES)
)


@pytest.mark.parametrize("options", [(), ("-ffunction-sections",)])
@pytest.mark.parametrize("target", ["aarch64", "thumb", "riscv32"])
def test_functions_have_parts_of_outlined_code(compilation, tmp_path, target, options):
    path = tmp_path / "outlined.o"
    words = (*TARGETS[target].options, "-Oz", "-fno-pic", *options)
    compilation.source.write_text(_SOURCE)
    run_command(replace(compilation, options=words).command(path), 60)
    found = read_object(path)
    total = sum(size for name, size in found.functions.items() if name.startswith(OUTLINED))
    assert total > 20 and sum(found.outlined.values()) == pytest.approx(total, abs=2)
    assert {*found.outlined} == {"f0", "f1", "f2"} and len({*found.outlined.values()}) == 1
    sizes = Objective.TEXT.with_unwinding(found)
    assert sizes["f2"] == found.functions["f2"] + found.outlined["f2"]
    assert sizes["f3"] == found.functions["f3"]


def test_outlined_code_that_enters_other_outlined_code(compilation, tmp_path):
    path = tmp_path / "outlined.o"
    text = "".join(
        f"{name}: .rept {size}\nnop\n.endr\n{jump}\n.size {name}, .-{name}\n"
        f".type {name}, %function\n"
        for name, size, jump in (
            ("OUTLINED_FUNCTION_0", 100, "ret"),
            ("OUTLINED_FUNCTION_2_0", 10, "b OUTLINED_FUNCTION_0"),
            ("f", 1, "bl OUTLINED_FUNCTION_2_0"),
            ("g", 1, "bl OUTLINED_FUNCTION_0"),
        )
    )
    source = tmp_path / "outlined.s"
    source.write_text(text)
    words = ("--target=aarch64-linux-gnu",)
    run_command(replace(compilation, source=source, options=words).command(path), 60)
    assert read_object(path).outlined == {"f": 202 + 44, "g": 202}
