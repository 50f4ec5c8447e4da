"""Object files for other targets than this machine, and of other languages than C."""

import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import pytest

from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.product import reproduces, write_object
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import PROGRAM, searched

# The program of the other tests, for machines without a library and with small integers.
FOLD = PROGRAM.partition("int main")[0].replace("#include <stdio.h>", "")
FOLD = FOLD.replace("unsigned *", "unsigned char *").replace(">> 25", ">> 9")
FOLD = FOLD.replace("2654435761u", "40503u")

# A program without a C library, whose exit code tells what fold() returned.
START = """
unsigned fold(const unsigned char *values, int count);
void _start(void) {
  register long code %s = fold((const unsigned char *)"What is folded here", 19) & 127;
  register long number %s = %d;
  __asm__ volatile("%s" : : "r"(code), "r"(number));
  __builtin_unreachable();
}
"""
NATIVE = """
unsigned fold(const unsigned char *values, int count);
int main(void) { return fold((const unsigned char *)"What is folded here", 19) & 127; }
"""

# The emulator, and how a program ends: registers, the number of the system call, the instruction.
RUNS = {
    "aarch64": ("qemu-aarch64", ('__asm__("x0")', '__asm__("x8")', 93, "svc #0")),
    "arm": ("qemu-arm", ('__asm__("r0")', '__asm__("r7")', 1, "svc #0")),
    "riscv64": ("qemu-riscv64", ('__asm__("a0")', '__asm__("a7")', 93, "ecall")),
    "x86": ("qemu-i386", ('__asm__("ebx")', '__asm__("eax")', 1, "int $0x80")),
}

# The name that clang lists, and the options that choose the target.
TARGETS = {
    "thumb": ["--target=thumbv7m-none-eabi"],
    "arm": ["--target=armv7a-linux-gnueabihf", "-mcpu=cortex-a15"],
    "aarch64": ["--target=aarch64-linux-gnu"],
    "riscv32": ["--target=riscv32-unknown-elf"],
    "riscv64": ["--target=riscv64-linux-gnu"],
    "ppc64": ["--target=powerpc64-linux-gnu"],  # Big endian.
    "avr": ["--target=avr", "-mmcu=atmega328", "-Wno-avr-rtlib-linking-quirks"],
    "msp430": ["--target=msp430-elf"],
    "x86": ["-m32"],
}


@cache
def targets_of_clang():
    command = [llvm_tools.clang_path(), "--print-targets"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^ +(\S+) +- ", listed, re.M)


def minimised(evaluator):
    search = searched(evaluator)
    search.minimise()
    return search


@pytest.mark.parametrize("target", TARGETS)
def test_target(target, compilation, start, tmp_path):
    if target not in targets_of_clang():
        pytest.skip(f"not checked: this clang has no target {target}")
    compilation.source.write_text(FOLD)
    options = ("-ffreestanding", *TARGETS[target])
    search = minimised(start(replace(compilation, options=options), evaluations=3))
    assert search.evaluator.budget.used == 3 and search.evaluator.failed == 0
    assert search.evaluator.unit is not None
    assert 0 < search.size(search.best) <= search.size(search.baseline)
    assert "fold" in search.best.object.functions
    assert reproduces(search.evaluator.compilation, search.best)
    if target in RUNS:
        check_run(target, compilation.source, search.best, tmp_path)


def check_run(target, source, best, folder):
    """Compares what a program returns on another processor and on this one."""
    emulator, exit_words = RUNS[target]
    for tool in (emulator, "ld.lld-22"):
        if shutil.which(tool) is None:
            pytest.skip(f"not run: {tool} is not installed")
    made, main, program = folder / "fold.o", folder / "main.c", folder / "program"
    write_object(best, made)
    main.write_text(START % exit_words)
    link = ["-nostdlib", "-static", "-fuse-ld=lld", *TARGETS[target], main, made, "-o", program]
    subprocess.run([llvm_tools.clang_path(), "-O1", *link], check=True)
    native = folder / "native"
    main.write_text(NATIVE)
    subprocess.run([llvm_tools.clang_path(), main, source, "-o", native], check=True)
    expected = subprocess.run([native]).returncode
    assert subprocess.run([emulator, program]).returncode == expected > 0


MODULE = """
target triple = "%s"
define i32 @times(i32 %%x) {
  %%y = mul i32 %%x, 12
  ret i32 %%y
}
"""


@pytest.mark.parametrize("suffix", [".ll", ".bc"])
def test_module_is_compiled_for_its_own_target(compilation, start, tmp_path, suffix):
    machines = {"aarch64": 183, "avr": 83, "x86_64": 62}
    for triple in ("aarch64-unknown-linux-gnu", "avr", "x86_64-unknown-linux-gnu"):
        name = triple.split("-")[0]
        if name.replace("_", "-") not in targets_of_clang():
            continue
        text, source = tmp_path / f"{name}.ll", tmp_path / f"{name}{suffix}"
        text.write_text(MODULE % triple)
        if suffix == ".bc":
            subprocess.run([llvm_tools.llvm_as_path(), text, "-o", source], check=True)
        search = minimised(start(replace(compilation, source=source, options=()), evaluations=3))
        made = search.best.path.read_bytes()
        assert int.from_bytes(made[18:20], "little") == machines[name]
        assert (
            "--target=" in " ".join(search.evaluator.compilation.command(text)) or name == "x86_64"
        )
        assert reproduces(search.evaluator.compilation, search.best)


def test_module_for_another_format_is_refused(compilation, start, tmp_path):
    source = tmp_path / "module.ll"
    source.write_text(MODULE % "x86_64-pc-windows-msvc")
    with pytest.raises(ValueError, match="ELF"):
        minimised(start(replace(compilation, source=source, options=()), evaluations=3))


RUST = """
#[no_mangle]
pub extern "C" fn count_threes(numbers: *const u32, count: usize) -> u32 {
    let numbers = unsafe { std::slice::from_raw_parts(numbers, count) };
    numbers.iter().map(|n| if n % 3 == 0 { n.rotate_left(7) } else { 1 }).sum()
}
"""


def test_bitcode_of_rust(compilation, start, tmp_path):
    if shutil.which("rustc") is None:
        pytest.skip("not checked: rustc is not installed")
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, cwd="/").stdout
    llvm = re.search(r"^LLVM version: (\d+)", version, re.M)
    clang = re.search(r"version (\d+)\.", llvm_tools.tool_version(llvm_tools.clang_path()))
    if llvm is None or int(llvm[1]) > int(clang[1]):
        pytest.skip("not checked: rustc writes bitcode of a newer LLVM than clang reads")
    source, bitcode = tmp_path / "threes.rs", tmp_path / "threes.bc"
    source.write_text(RUST)
    command = ["rustc", "--crate-type=lib", "--emit=llvm-bc", "-Copt-level=z", source]
    subprocess.run([*command, "-o", bitcode], check=True)
    search = minimised(start(replace(compilation, source=bitcode), evaluations=3))
    assert search.size(search.best) <= search.size(search.baseline)
    write_object(search.best, tmp_path / "threes.o")
    assert "count_threes" in read_object(tmp_path / "threes.o").functions
