"""Shared libraries whose calls are bound at the first call compute what they should.

The resolver of lazily bound calls uses registers that the called function may leave alone, so a
caller must not rely on what its callee is known to leave alone.
"""

import subprocess

import pytest

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.ranking import shipped_portfolio, toggles
from compiler_gym.tuning.speed.optimizer import parts
from compiler_gym.util import llvm_tools

# Fourteen values are live across three calls of a function that needs hardly any register.
LIBRARY = r"""
__attribute__((noinline)) void put(int *sum, int value) { *sum += value; }

int fill(const int *v) {
  int sum = 0;
  int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7], i = v[8];
  int j = v[9], k = v[10], l = v[11], m = v[12], n = v[13];
  put(&sum, a);
  put(&sum, b);
  put(&sum, c);
  return sum + a * 2 + b * 3 + c * 5 + d * 7 + e * 11 + f * 13 + g + h * 2 + i * 3 + j + k * 2 +
         l * 3 + m * 4 + n * 5;
}
"""
MAIN = r"""
#include <stdio.h>
int fill(const int *);
int main(void) {
  int values[14];
  for (int i = 0; i < 14; i++) values[i] = i + 1;
  printf("%d\n", fill(values));
  return 0;
}
"""
EXPECTED = "430"


@pytest.fixture(name="printed", scope="module")
def fixture_printed(tmp_path_factory):
    """Returns what the program prints with a library that is compiled with a change."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "library.c").write_text(LIBRARY)
    (folder / "main.c").write_text(MAIN)
    clang = llvm_tools.clang_path()
    plugin = llvm_tools.own_passes_path()
    compilation = Compilation(clang, folder / "library.c", ("-fPIC",), plugin)
    library, program = folder / "liblibrary.so", folder / "main"

    def printed(change):
        made = folder / "library.o"
        subprocess.run(compilation.command(made, change), check=True)
        subprocess.run([clang, "-shared", "-Wl,-z,lazy", made, "-o", library], check=True)
        if not program.exists():
            words = [clang, folder / "main.c", library, f"-Wl,-rpath,{folder}", "-o", program]
            subprocess.run(words, check=True)
        return subprocess.run([program], capture_output=True, text=True).stdout.strip()

    return printed


def test_the_program_notices_overwritten_registers(printed):
    """Otherwise the tests below could not fail."""
    assert printed(Change()) == EXPECTED
    assert printed(Change(("-enable-ipra",))) != EXPECTED


@pytest.mark.parametrize("known", shipped_portfolio(True), ids=lambda known: known.name)
def test_changes_of_the_portfolio(printed, known):
    assert printed(known.change) == EXPECTED


def test_parts_of_changes(printed):
    for toggle in toggles(with_passes=True, with_experimental=True):
        assert printed(toggle(Change())) == EXPECTED


@pytest.mark.parametrize("part", parts(), ids=lambda part: " ".join(part.options + part.passes))
def test_parts_of_changes_for_speed(printed, part):
    assert printed(part) == EXPECTED
