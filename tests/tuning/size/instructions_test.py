"""Counted instructions, compared with what was written and with the assembly of clang."""

import re
import subprocess

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.object_file import (
    count_instructions,
    read_object,
    read_with_instructions,
)
from compiler_gym.util import llvm_tools

_SOURCE = """
int g(int);
int h(int);
static const int table[4] = {1, 2, 3, 4};
int f(int a) {
  switch (a) {
    case 0: return g(1);
    case 1: return g(7) + h(2);
    case 2: return g(9) * 3;
    case 3: return h(12);
    case 4: return g(1) + g(2);
    case 5: return g(77) * h(2);
  }
  return table[a & 3];
}
double scaled(double x) { return x * 3.14159265358979 + 1234567.891; }
__attribute__((aligned(32))) int aligned(int a) { return a + 123456789; }
__attribute__((section("other place"))) int placed(int a) { return a / 7; }
"""

# Each function ends where its size says so.
_ASSEMBLY = """
  .text
  .type two_names,@function
  .type same,@function
two_names:
same:
  lock
  cmpxchgl %edx, (%rdi)
.Linside:
  rep stosb
  jne .Linside
  ret
  .size two_names, .-two_names
  .size same, .-same
  .p2align 5
  nop
  .type "odd <name>: x",@function
"odd <name>: x":
inner:
  .zero 16
  ret
  .size "odd <name>: x", .-"odd <name>: x"
  .section .text,"axG",@progbits,group,comdat
  .type _ZN1aIXgtLi1ELi0EEE1bEv,@function
_ZN1aIXgtLi1ELi0EEE1bEv:
  addl $100000, %eax
  movabsq $0x1122334455667788, %rax
  data16
  leaq (%rip), %rdi
  ud2
  .size _ZN1aIXgtLi1ELi0EEE1bEv, .-_ZN1aIXgtLi1ELi0EEE1bEv
  .type nothing,@function
nothing:
  ret
  .data
  .type no_code,@object
no_code:
  .long 1
  .size no_code, 4
"""


def counts_of_assembly(text):
    """Counts lines that are neither labels nor directives, by the label of their function."""
    functions = re.findall(r"^\t\.type\t(\w+),[@%]function$", text, re.M)
    counts, function = dict.fromkeys(functions, 0), ""
    for line in text.splitlines():
        label = re.match(r"(\w+):", line)
        if label and label[1] in counts:
            function = label[1]
        counts[function] = counts.get(function, 0) + bool(re.match(r"\t[a-z]", line))
    return {name: counts[name] for name in functions}


def test_instructions_of_assembly_are_counted(compiled):
    path = compiled(_ASSEMBLY, "--target=x86_64-linux-gnu", name="source.s")
    found = read_with_instructions(path)
    assert found.instructions == {
        "two_names": 4,
        "odd <name>: x": 9,
        "_ZN1aIXgtLi1ELi0EEE1bEv": 4,
    }
    assert found.instruction_count == 17


@pytest.mark.parametrize(
    "options",
    [
        ("--target=x86_64-linux-gnu",),
        ("--target=x86_64-linux-gnu", "-ffunction-sections", "-g", "-fPIC"),
        ("--target=x86_64-linux-gnu", "-fno-unique-section-names", "-ffunction-sections"),
        ("--target=i386-linux-gnu",),
        ("--target=aarch64-linux-gnu",),
        ("--target=armv7-linux-gnueabi",),
        # Without data in code, before which there would be instructions for padding.
        ("--target=thumbv7m-none-eabi", "-mexecute-only"),
    ],
)
@pytest.mark.parametrize("level", ["-Oz", "-O2"])
def test_counts_are_those_of_the_assembly_of_clang(compiled, options, level):
    path = compiled(_SOURCE, level, *options)
    command = [llvm_tools.clang_path(), level, *options, "-S", path.with_suffix(".c"), "-o", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expected = counts_of_assembly(text)
    assert {"f", "scaled", "aligned", "placed"} <= expected.keys() and expected["f"] > 10
    assert read_with_instructions(path).instructions == expected


def test_counting_errors_name_the_cause(compiled, tmp_path, monkeypatch):
    path = compiled(_SOURCE)
    assert read_object(path).instructions is None
    with pytest.raises(ValueError, match="none"):
        count_instructions(path, {"f": 1, "none": 1})
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="not recognized"):
        count_instructions(tmp_path / "text", {})
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    with pytest.raises(EnvironmentNotSupported, match="llvm-objdump"):
        count_instructions(path, {})
