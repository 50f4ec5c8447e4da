"""The LLVM tools. They are those that are installed on this machine; nothing is downloaded."""

from pathlib import Path

from compiler_gym.util.llvm_tools import (
    clang_path,
    llc_path,
    lli_path,
    llvm_as_path,
    llvm_diff_path,
    llvm_dis_path,
    llvm_extract_path,
    llvm_link_path,
    llvm_size_path,
    llvm_stress_path,
    opt_path,
)

__all__ = [
    "clang_path",
    "download_llvm_files",
    "llc_path",
    "lli_path",
    "llvm_as_path",
    "llvm_diff_path",
    "llvm_dis_path",
    "llvm_extract_path",
    "llvm_link_path",
    "llvm_size_path",
    "llvm_stress_path",
    "opt_path",
]


def download_llvm_files() -> Path:
    """Returns the folder of the LLVM that is used, which has the tools in its folder ``bin``.

    Downloads nothing; the name is from when it did.

    Raises:
        EnvironmentNotSupported: If LLVM is not installed. The text says what to install.
    """
    return opt_path().parent.parent
