"""``clang -Oz`` is the pipeline of -O2 for functions that are marked for size, in LLVM 19 to 22.

LLVM 23 has no other spelling of it: see ``baselinePipeline`` in ``llvm_service/passes/Levels.h``.
"""

from pathlib import Path

import pytest

from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

# The service's LLVM, and others of Debian from 19 on.
_OTHERS = sorted(
    clang
    for folder in Path("/usr/lib").glob("llvm-[0-9]*")
    if int(folder.name.removeprefix("llvm-")) >= 19 and (clang := folder / "bin/clang").exists()
)
_CLANGS = [*dict.fromkeys([llvm_tools.clang_path(), *_OTHERS])]


@pytest.mark.parametrize("clang", _CLANGS, ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("kernel", ["checksums", "sha256"])
def test_size_level_is_o2_with_attributes(kernel, clang, tmp_path):
    (source,) = (KERNELS_PATH / kernel).glob("*.c")
    unit = tmp_path / "unit.bc"
    stop = ["-Oz", "-w", "-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    run_command([clang, *stop, "-c", source, "-o", unit])
    codes = {}
    for level in ("-Oz", "-O2"):
        run_command([clang, level, "-c", unit, "-o", tmp_path / "a.o"])
        codes[level] = read_object(tmp_path / "a.o").code
    assert codes["-Oz"] == codes["-O2"]
