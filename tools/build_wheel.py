"""Builds the wheel: lays out the files it is given and runs setuptools and auditwheel."""

import argparse
import re
import tempfile
from pathlib import Path

from tools import third_party, wheels
from tools.target_system import system_of

# What the build makes are data files of the package, all in one folder of it: nothing in the wheel
# depends on the Python version.
BUILT_FOLDERS = re.compile("^(llvm_service/|mlir_service/)")
SERVICE_PLACE = "compiler_gym/_service/"
# They are in wheels of their own: the first needs LLVM's shared library, the second is large.
ELSEWHERE = ("compiler_gym-llvm-service-shared", "compiler_gym-mlir-service")
# A wheel goes with companions of its own version only.
COMPANION = re.compile(r'"(compiler_gym_[a-z]+[0-9]*)"')


def read_list(path: Path) -> dict[str, Path]:
    """The files of the wheel, by their place in it. A line of the list is PLACE=SOURCE."""
    files = dict(line.split("=", 1) for line in path.read_text().splitlines())
    files = {BUILT_FOLDERS.sub(SERVICE_PLACE, place): source for place, source in files.items()}
    return {
        place: Path(source)
        for place, source in files.items()
        if (place.startswith("compiler_gym/") or "/" not in place)
        and Path(place).name not in ELSEWHERE
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("files", type=lambda text: Path(text.removeprefix("@")))
    parser.add_argument("--link_lines", type=Path, required=True, help="of the programs")
    parser.add_argument("--npm_lock", type=Path, help="what the explorer's page is made of")
    parser.add_argument("--npm_packages", type=Path, help="its second line is node_modules")
    parser.add_argument("--sysroot", type=Path, help="of another processor: see target_system.py")
    options = parser.parse_args()

    system = system_of(options.sysroot)
    files = read_list(options.files)
    programs = [source for source in files.values() if wheels.is_elf(source)]
    libraries = third_party.archives_of(options.link_lines.read_text().splitlines(), system)
    libraries += third_party.shared_libraries_of(programs, system=system).values()
    components = third_party.debian_components(libraries, system)
    if options.npm_lock:
        packages = Path(options.npm_packages.read_text().splitlines()[1])
        components += third_party.npm_components(options.npm_lock, packages)
    version = files["VERSION"].read_text().strip()
    bill = third_party.bill_of_materials("compiler_gym", version, components)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheels.stage(files, folder, system)
        project = folder / "pyproject.toml"
        project.write_text(COMPANION.sub(rf'"\1=={version}"', project.read_text()))
        package = folder / "compiler_gym"
        (package / wheels.LICENSES).write_text(third_party.licenses_text(components))
        wheels.build(folder, options.output.absolute(), bill, system)


if __name__ == "__main__":
    main()
