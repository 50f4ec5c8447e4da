"""The use of memory regions that linkers print."""

import re
import subprocess
from dataclasses import replace

import pytest

from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.memory_regions import (
    MemoryRegion,
    MemoryUse,
    is_about_space,
    read_memory_use,
    with_report,
)
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.util import llvm_tools

TABLE = """\
Memory region         Used Size  Region Size  %age Used
           FLASH:        8380 B        32 KB     25.57%
             RAM:          2 KB       16386 B    12.50%
            CCM2:           0 B          1 MB      0.00%
"""

SCRIPT = """\
MEMORY {{
  FLASH (rx) : ORIGIN = 0x08000000, LENGTH = {flash}
  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = {ram}
}}
SECTIONS {{
  .text : {{ *(.text*) *(.rodata*) }} > FLASH
  .ARM.exidx : {{ *(.ARM.exidx*) }} > FLASH
  .data : {{ *(.data*) }} > RAM AT> FLASH
  .bss : {{ *(.bss*) }} > RAM
}}
"""
BY_NAME = """\
MEMORY {{ FLASH (rx) : ORIGIN = 0, LENGTH = 1K  FAST (rx) : ORIGIN = 4K, LENGTH = 1K }}
SECTIONS {{ .fast : {{ *made/fast.o(.text*) }} > FAST .text : {{ *(.text*) }} > FLASH }}
"""
SOURCE = """
int table[8] = {1, 2, 3};
int zeros[16];
int _start(void) { return table[zeros[3] & 7] * 77; }
"""


def test_the_last_program_counts_and_nothing_is_rounded():
    printed = f"flash: 12 KB 64 KB\n{TABLE.replace('8380', '9000')}done\n{TABLE}flash: 1 KB 2 KB\n"
    use = read_memory_use("RAM", printed, is_linked=True)
    assert use.regions == (
        MemoryRegion("FLASH", 8380, 32 << 10),
        MemoryRegion("RAM", 2 << 10, 16386),
        MemoryRegion("CCM2", 0, 1 << 20),
    )
    assert (use.counted, use.guarded, use.rest) == (2048, 0, 8380 + 2048)
    assert use.fits and not replace(use, is_linked=False).fits


def test_a_program_has_to_fit_into_the_other_regions_too():
    use = MemoryUse("FLASH", (MemoryRegion("FLASH", 9, 9), MemoryRegion("RAM", 7, 4)), True)
    assert use.guarded == 3 and not use.fits and "RAM" in use.describe()
    assert "5 " in replace(use, regions=(MemoryRegion("FLASH", 9, 4),)).describe()


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("clang -T 'my script.ld' a.o -o $PROGRAM", " -Wl,--print-memory-usage"),
        ("/opt/bin/arm-none-eabi-ld a.o -o $PROGRAM", " --print-memory-usage"),
        ("ld.lld-22 a.o -o $PROGRAM", " --print-memory-usage"),
        ("ld a.o --print-memory-usage", ""),
        ("cd build && ld a.o", ""),
        ("nice ld.lld-22 a.o", ""),
        ("LANG=C ld a.o", ""),
        ("./link.sh a.o -o $PROGRAM", ""),
        ("ld a.o -o $PROGRAM # the firmware", ""),
        ("make OBJECTS=$(echo a.o)", ""),
        ("clang 'a.o", ""),
    ],
)
def test_a_simple_command_gets_the_option(command, added):
    assert with_report(command) == command + added


OVERFLOW_OF_LLD = (
    "ld.lld: error: section '.data' will not fit in region 'FLASH': overflowed by 64 bytes\n"
    "clang-22: error: linker command failed with exit code 1 (use -v to see invocation)\n"
)
OVERFLOW_OF_GNU = (
    "/usr/bin/ld: warning: p has a LOAD segment with RWX permissions\n"
    "/usr/bin/ld: p section `.text' will not fit in region `FLASH'\n"
    "/usr/bin/ld: region `FLASH' overflowed by 69 bytes\n"
    "collect2: error: ld returned 1 exit status\n"
)


# Into the region behind it, and with an assertion of the script.
OVERLAP = (
    "ld.lld: error: section .text load address range overlaps with .config\n"
    ">>> .text range is [0x8000000, 0x80004CB]\n"
    "ld.lld: error: flash is full\n"
)


@pytest.mark.parametrize("messages", [OVERFLOW_OF_LLD, OVERFLOW_OF_GNU, OVERFLOW_OF_LLD + OVERLAP])
def test_an_overflow_is_no_other_failure(messages):
    assert is_about_space(messages)
    assert not is_about_space(messages + "main.c:(.text+0x4): undefined reference to `f'\n")
    assert not is_about_space("collect2: error: ld returned 1 exit status\n")


@pytest.fixture(name="firmware")
def fixture_firmware(tmp_path):
    """Makes an object file, and returns what links it with regions of some sizes."""

    def firmware(command, target, flash, ram):
        (tmp_path / "a.c").write_text(SOURCE)
        words = [llvm_tools.clang_path(), *target, "-Oz", "-c", tmp_path / "a.c"]
        subprocess.run([*words, "-o", tmp_path / "a.o"], check=True)
        script = tmp_path / "firmware.ld"
        script.write_text(SCRIPT.format(flash=flash, ram=ram))
        command = f"{command} -T {script} {{}} -o $PROGRAM"
        return Linker(command, region="FLASH"), tmp_path / "a.o"

    return firmware


LINKERS = {
    "LLD": ("ld.lld-22", ["--target=thumbv7m-none-eabi"]),
    "GNU": ("gcc -nostdlib -static -no-pie", ["-fno-pic", "-fno-asynchronous-unwind-tables"]),
}


@pytest.mark.parametrize("kind", LINKERS)
def test_what_does_not_fit_is_measured(firmware, kind):
    linker, made = firmware(*LINKERS[kind], flash="1K", ram="1K")
    fitting = linker.measure(made)
    assert fitting.fits and {each.name for each in fitting.regions} == {"FLASH", "RAM"}
    used = fitting.region.used
    assert used >= 32 + 8  # The table, and some code.
    linker, made = firmware(*LINKERS[kind], flash=used - 3, ram=16)
    larger = linker.measure(made)
    assert larger.region == MemoryRegion("FLASH", used, used - 3)
    assert larger.region.overflow == 3 and not larger.fits and larger.guarded > 0


def test_errors_of_the_command(firmware):
    linker, made = firmware(*LINKERS["LLD"], flash=4, ram="1K")
    with pytest.raises(LinkError, match="FLASH and RAM"):
        replace(linker, region="FLSH").measure(made)
    with pytest.raises(LinkError, match="--print-memory-usage"):
        replace(linker, command=f"cd . && {linker.command}", region="FLASH").measure(made)
    with pytest.raises(LinkError, match=re.escape("nothing.o")):
        replace(linker, command=f"{linker.command} nothing.o").measure(made)
    fitting, _ = firmware(*LINKERS["LLD"], flash="1K", ram="1K")
    for command in (
        "true {}",
        f"{fitting.command} -o /dev/null",
        f"{linker.command} missing.o | cat",
    ):
        with pytest.raises(LinkError, match="has not written the program"):
            replace(linker, command=command).measure(made)


def test_linker_scripts_find_object_files_by_their_names(firmware, tmp_path):
    linker, made = firmware(*LINKERS["LLD"], flash="1K", ram="1K")
    (tmp_path / "firmware.ld").write_text(BY_NAME.format())
    linker = replace(linker, command=f"{linker.command} --discard-all", region="FAST")
    assert linker.measure(made).region.used == 0
    assert replace(linker, name="made/fast.o").measure(made).region.used > 0
