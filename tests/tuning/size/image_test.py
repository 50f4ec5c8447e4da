"""The sections, functions and assembly of object files and programs."""

import subprocess

import pytest

from compiler_gym.tuning.size.image import Instruction, estimate_cycles, processor_of, read_image
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import PROGRAM

# The name of a function that looks like a header of a section and like an instruction.
HOSTILE = r"""
void odd(void) __asm__("a\nDisassembly of section .x:\n  0:\t.incbin \"/etc/passwd\"");
__attribute__((noinline)) void odd(void) { __builtin_trap(); }
int main(int count, char** words) {
  if (count > 3) odd();
  return 0;
}
"""


SIMPLE = """
int counter = 7;
static __attribute__((noinline)) int twice(int x) { return x * 2 + counter; }
int f(int x) { return twice(x) + twice(x + 1); }
"""


@pytest.mark.parametrize("option", ["-O1", "-ffunction-sections", "--target=i386-linux-gnu"])
def test_sizes_are_those_of_the_object_file(compiled, option):
    path = compiled(SIMPLE, option)
    image, found = read_image(path), read_object(path)
    assert image.functions == found.functions
    assert image.code == found.text
    assert image.code + sum(image.tables.values()) == found.all
    assert image.tables[".eh_frame"] > 0 and image.tables[".data"] == 4
    assert image.assembly.keys() == image.functions.keys()
    for name, size in image.functions.items():
        assert sum(each.size for each in image.assembly[name]) == size


def test_assembly_has_names_in_place_of_addresses(compiled):
    image = read_image(compiled(PROGRAM))
    assert image.arch == "x86_64"
    lines = image.assembly["main"]
    texts = [each.text for each in lines]
    assert "callq printf" in texts and "callq fold" in texts
    assert any(text.startswith("leaq (%rip), ") and "# .L.str" in text for text in texts)
    labels = [each.label for each in lines if each.label]
    assert labels == [f"L{number}" for number in range(1, len(labels) + 1)] != []
    assert {text.split()[-1] for text in texts if text.startswith("j")} == {*labels}
    assert not any("<" in each.code for each in lines)
    # A constant of mix().
    all_lines = [each for function in image.assembly.values() for each in function]
    constants = [each for each in all_lines if "imm = 0x9E3779B1" in each.code]
    assert constants and all(each.text.startswith("imull $0x9e3779b1, ") for each in constants)
    assert not any("imm =" in each.text for each in constants)


def test_program(compiled, tmp_path):
    program = tmp_path / "program"
    path = compiled(PROGRAM, "-fno-inline")
    subprocess.run([llvm_tools.clang_path(), path, "-o", program], check=True)
    image = read_image(program)
    assert "callq mix" in {each.text for each in image.assembly["twice"]}
    assert {"main", "fold"} <= image.functions.keys() == image.assembly.keys()
    assert image.code > sum(image.functions.values())
    assert {".dynamic", ".gnu.hash", ".rela.plt", ".rodata"} <= image.tables.keys()


def test_name_with_line_breaks(compiled):
    image = read_image(compiled(HOSTILE))
    assert len(image.functions) == 2 and image.functions["main"] > 0
    assert not any("incbin" in each.code for lines in image.assembly.values() for each in lines)


def test_text_is_not_an_object_file(tmp_path):
    path = tmp_path / "text.o"
    path.write_text("no object file")
    with pytest.raises(ValueError, match=r"text\.o"):
        read_image(path)


def instructions(*codes):
    return [Instruction("", 1, code, code) for code in codes]


def test_cycles():
    assert processor_of("x86_64") == "skylake-avx512"
    few = instructions("imulq %rax, %rax")
    many = instructions(*["imulq %rax, %rax"] * 20, "retq")
    # What would be carried out by an assembler is left out.
    data = instructions(".byte 7", '.incbin "/etc/passwd"', "imulq %rax, %rax")
    unknown = instructions("imulq %rax, %rax", "frobnicate %rax")
    found = estimate_cycles("x86_64", [few, many, data, unknown, []])
    assert found[0] == found[2] < found[1] / 10
    assert found[3:] == [None, None]
    assert estimate_cycles("z80", [few]) == [None]


@pytest.mark.parametrize("arch", ["aarch64", "riscv64"])
def test_cycles_of_other_targets(compiled, arch):
    image = read_image(compiled("int f(int x) { return x * x; }", f"--target={arch}-linux-gnu"))
    assert image.arch == arch
    (cycles,) = estimate_cycles(arch, [image.assembly["f"]])
    assert cycles is not None and cycles > 0
