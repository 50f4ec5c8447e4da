import pytest

from compiler_gym.envs.llvm.benchmarks.bitcode import (
    HostCompilerFailure,
    UnableToParseHostCompilerOutput,
    get_system_library_flags,
)
from compiler_gym.util import llvm_tools


def write_compiler(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def test_search_list(tmp_path):
    compiler = write_compiler(
        tmp_path / "c++",
        "printf '%s\\n' 'ignored' '#include <...> search starts here:' ' /a b' ' /c' "
        "'End of search list.' ' /d' >&2",
    )
    assert get_system_library_flags(compiler) == ["-isystem", "/a b", "-isystem", "/c"]


def test_real_compiler():
    flags = get_system_library_flags(str(llvm_tools.clang_path()))
    assert flags[::2] == ["-isystem"] * (len(flags) // 2)
    assert "/usr/include" in flags


def test_failing_compilers(monkeypatch, tmp_path):
    compiler = write_compiler(tmp_path / "mine", "exit 7")
    monkeypatch.setenv("CXX", compiler)
    with pytest.raises(HostCompilerFailure, match="exit code 7"):
        get_system_library_flags()
    with pytest.raises(HostCompilerFailure, match="CXX"):
        get_system_library_flags(str(tmp_path / "none"))
    assert issubclass(UnableToParseHostCompilerOutput, OSError)
    assert issubclass(HostCompilerFailure, OSError)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("true", "prints no header search list"),
        (
            "printf '%s\\n' '#include <...> search starts here:' 'End of search list.' >&2",
            "is empty",
        ),
    ],
)
def test_unexpected_output(tmp_path, script, message):
    compiler = write_compiler(tmp_path / "c++", script)
    with pytest.raises(UnableToParseHostCompilerOutput, match=message):
        get_system_library_flags(compiler)
