"""Programs given as text, compiled by an LLVM outside of the folders of the system."""

import shutil

import pytest

from compiler_gym.explorer.limits import LOCAL
from compiler_gym.explorer.messages import ExplorerError, Source
from compiler_gym.explorer.programs import make_program
from compiler_gym.util import llvm_tools


@pytest.fixture
def llvm(tmp_path, monkeypatch):
    """The folder of an LLVM with its own headers, as the package compiler_gym_clang is."""
    original = llvm_tools.clang_path().resolve().parents[1]
    folder = tmp_path / "llvm"
    (folder / "bin").mkdir(parents=True)
    for name in ("clang", "llvm-dis"):
        shutil.copy(original / "bin" / name, folder / "bin")
    (resources,) = (original / "lib" / "clang").iterdir()
    headers = f"lib/clang/{resources.name}/include"
    shutil.copytree(original / headers, folder / headers)
    for path in (original / "lib").glob("*.so*"):
        (folder / "lib" / path.name).symlink_to(path.resolve())
    monkeypatch.setenv(llvm_tools.PREFIX_VARIABLE, str(folder))
    return folder


def compile_text(text):
    return make_program(Source(language="c", text=text, flags=""), LOCAL)


def test_headers_of_clang(llvm):
    program = compile_text("#include <stddef.h>\n#include <stdio.h>\nsize_t size;\n")
    assert program.proto.program.contents.startswith(b"BC")


def test_headers_of_the_c_library_beside_clang(llvm):
    folder = llvm / "c-library" / "usr" / "include"
    folder.mkdir(parents=True)
    (folder / "only_here.h").write_text("extern int number;\n")
    compile_text(f'#include "{folder}/only_here.h"\nint f(void) {{ return number; }}\n')


@pytest.mark.parametrize("name", ["notes.h", "lib/notes.h", "c-library/notes.h"])
def test_other_files_beside_clang(llvm, name):
    path = llvm / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("int secret;\n")
    with pytest.raises(ExplorerError, match="expected #include of headers of the system"):
        compile_text(f'#include "{path}"\n')
