"""Builds the wheel: lays out the files it is given and runs setuptools and auditwheel.

Usage: build_wheel OUTPUT.whl @FILE_LIST [LINK_FLAG...], where a line of the list is PLACE=SOURCE.
The rest are the options that the programs were linked with.
"""

import re
import sys
import tempfile
from pathlib import Path

from tools import third_party, wheels

# What the build makes are data files of the package, all in one folder of it: nothing in the wheel
# depends on the Python version.
BUILT_FOLDERS = re.compile("^(llvm_service/|mlir_service/)")
SERVICE_PLACE = "compiler_gym/_service/"
# The shared library. The plugin of passes needs it, and so do the programs that load the plugin.
LLVM = "libLLVM"
# They are in wheels of their own: the first needs LLVM's shared library, the second is large.
ELSEWHERE = ("compiler_gym-llvm-service-shared", "compiler_gym-mlir-service")
SETUP = """
import setuptools

setuptools.setup(
    packages=setuptools.find_namespace_packages(include=["compiler_gym*"]),
    package_data={"": ["*"]},
)
"""


def read_list(argument: str) -> dict[str, Path]:
    """The files of the wheel, by their place in it."""
    lines = Path(argument.removeprefix("@")).read_text().splitlines()
    files = dict(line.split("=", 1) for line in lines)
    files = {BUILT_FOLDERS.sub(SERVICE_PLACE, place): source for place, source in files.items()}
    return {
        place: Path(source)
        for place, source in files.items()
        if (place.startswith("compiler_gym/") or "/" not in place)
        and Path(place).name not in ELSEWHERE
    }


def main() -> None:
    output = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = read_list(sys.argv[2])
        programs = [source for source in files.values() if wheels.is_elf(source)]
        libraries = third_party.archives_of(sys.argv[3:])
        shared = third_party.shared_libraries_of(programs, leaves=[LLVM])
        libraries += [path for name, path in shared.items() if not name.startswith(LLVM)]
        licenses = third_party.licenses_text(third_party.packages_of(libraries))
        wheels.stage(files, folder)
        (folder / "compiler_gym" / "THIRD_PARTY_LICENSES").write_text(licenses, encoding="utf-8")
        (folder / "setup.py").write_text(SETUP)
        wheels.build(folder, output, exclude=[f"{LLVM}*"])


if __name__ == "__main__":
    main()
