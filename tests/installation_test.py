"""The programs of the wheels need no libraries but those that every Linux with Python has."""

import os
import re
import subprocess

import pytest

from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import find_service_binary

SYSTEM = {"libc.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libstdc++.so.6"}
LOADER = {"ld-linux-x86-64.so.2"}


def libraries(program):
    """The names of the shared libraries that a program asks the loader for."""
    done = subprocess.run(["objdump", "-p", program], check=True, capture_output=True, text=True)
    return set(re.findall(r"NEEDED +(\S+)", done.stdout))


@pytest.mark.parametrize(
    ("name", "package"),
    [("compiler_gym-llvm-service", "llvm_service"), ("compiler_gym-mlir-service", "mlir_service")],
)
def test_services_stand_on_their_own(name, package):
    needed = libraries(find_service_binary(name, package))
    assert "libc.so.6" in needed
    assert needed <= SYSTEM | LOADER


def test_service_for_plugins_needs_llvm_and_system_libraries_only():
    needed = libraries(find_service_binary("compiler_gym-llvm-service-shared"))
    assert {name for name in needed - SYSTEM - LOADER if not name.startswith("libLLVM")} == set()
    assert any(name.startswith("libLLVM") for name in needed)


def test_plugin_of_passes_gets_llvm_from_the_program_that_loads_it():
    plugin = llvm_tools.own_passes_path()
    assert libraries(plugin) <= SYSTEM | LOADER
    command = [
        llvm_tools.opt_path(),
        f"-load-pass-plugin={plugin}",
        "-passes=list-call-sites",
        "-S",
    ]
    # All symbols are looked up, not only those that are used.
    environment = {**os.environ, "LD_BIND_NOW": "1"}
    subprocess.run(command, check=True, input=b"", capture_output=True, env=environment)
