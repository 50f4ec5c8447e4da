"""What the README tells the users of the wheel to install is what the service needs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler_gym.util.service_binary import find_service_binary, find_service_file
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


def missing_packages(packages, needed):
    """The libraries that installing some packages does not bring."""
    assert all(re.fullmatch(r"[a-z0-9.+-]+", package) for package in packages)
    installed = with_dependencies(packages)
    return [name for name, found in packages_of(needed).items() if not found & installed]


def packages_in_readme():
    """What to install for the service of LLVM, and what besides for Python's and that of MLIR."""
    lines = block_with("apt-get install clang", code_blocks("README.md", "sh")).splitlines()
    return [line.partition("#")[0].removeprefix("apt-get install ").split() for line in lines]


def test_packages_for_the_wheel():
    packages, _, _ = packages_in_readme()
    needed = libraries(find_service_binary("compiler_gym-llvm-service"))
    assert "libboost_filesystem.so.1.74.0" in needed
    assert not any(library.startswith("libLLVM") for library in needed)
    needed |= libraries(find_service_binary("compiler_gym-llvm-service-shared"))
    assert missing_packages(packages, needed) == []


def test_packages_for_services_in_python():
    packages, more, _ = packages_in_readme()
    folder = "compiler_gym/service/runtime/foreign"
    needed = libraries(find_service_file("libcompiler_gym_runtime.so", folder))
    assert missing_packages(packages, needed) != []
    assert missing_packages([*packages, *more], needed) == []


def test_packages_for_mlir():
    packages, _, more = packages_in_readme()
    needed = libraries(find_service_binary("compiler_gym-mlir-service", "mlir_service"))
    assert "libMLIR.so.22.1" in needed
    assert missing_packages(packages, needed) != []
    assert missing_packages([*packages, *more], needed) == []
