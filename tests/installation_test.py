"""What the README tells the users of the wheel to install is what the service needs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler_gym.util.service_binary import find_service_binary
from tests.document_code import block_with, code_blocks

pytestmark = pytest.mark.skipif(
    not (shutil.which("dpkg") and shutil.which("apt-cache")), reason="This is not Debian"
)


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def libraries(program):
    """The file names of the shared libraries that a program loads."""
    found = (re.search(r"=> (/\S+)", line) for line in lines_of("ldd", program))
    return {Path(match[1]).resolve().name for match in found if match}


def packages_of(libraries):
    """The names of the packages that hold each library.

    The folder may go by another name there: /lib rather than /usr/lib.
    """
    packages = {library: set() for library in libraries}
    patterns = [f"*/{library}" for library in libraries]
    for line in lines_of("dpkg", "--search", *patterns):
        package, path = line.split(": ", 1)
        packages[Path(path).name].add(package.partition(":")[0])
    return packages


def with_dependencies(packages):
    lines = lines_of("apt-cache", "depends", "--recurse", "--important", *packages)
    return {line for line in lines if not line.startswith((" ", "<"))}


def test_packages_for_the_wheel():
    block = block_with("apt-get install clang", code_blocks("README.md", "sh"))
    packages = block.removeprefix("apt-get install ").split()
    assert all(re.fullmatch(r"[a-z0-9.+-]+", package) for package in packages)
    installed = with_dependencies(packages)
    needed = libraries(find_service_binary("compiler_gym-llvm-service"))
    assert "libboost_filesystem.so.1.74.0" in needed
    assert not any(library.startswith("libLLVM") for library in needed)
    needed |= libraries(find_service_binary("compiler_gym-llvm-service-shared"))
    missing = [name for name, found in packages_of(needed).items() if not found & installed]
    assert missing == []
