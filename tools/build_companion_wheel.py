"""Builds a wheel that goes with that of compiler_gym, and has the same version.

Usage: build_companion_wheel OUTPUT.whl PACKAGE --version_file VERSION --link_lines FILE
       [--llvm_file FILE] [--file PLACE=SOURCE ...] [--license FILE ...] [--sysroot FILE]
"""

import argparse
import tempfile
from pathlib import Path

from tools import installed_llvm, third_party, wheels
from tools.target_system import system_of

DESCRIPTIONS = {
    "compiler_gym_clang": "clang and the tools of LLVM that compiler_gym uses",
    "compiler_gym_mlir": "The compiler service of mlir-v0, an environment of compiler_gym",
    "compiler_gym_llvm": "Another version of LLVM for the environments of compiler_gym: {}",
}
_LLVM_LICENSES = "MIT AND Apache-2.0 WITH LLVM-exception"
LICENSES = {
    # The last two are those of the C library for bare systems.
    "compiler_gym_clang": f"{_LLVM_LICENSES} AND LGPL-2.1-or-later AND GPL-2.0-only "
    "WITH Linux-syscall-note",
    "compiler_gym_mlir": _LLVM_LICENSES,
}
LICENSES["compiler_gym_llvm"] = LICENSES["compiler_gym_clang"]
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "{description}"
readme = {{ text = "{description}.", content-type = "text/plain" }}
license = "{license}"
license-files = ["licenses/*"]
requires-python = ">=3.10"

[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
"{name}" = ["**/*"]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("package")
    parser.add_argument("--version_file", type=Path, required=True)
    parser.add_argument("--llvm_file", type=Path, help="its first line is the folder of an LLVM")
    parser.add_argument("--file", action="append", default=[], help="PLACE=SOURCE")
    parser.add_argument("--link_lines", type=Path, required=True, help="of the programs")
    parser.add_argument("--license", type=Path, action="append", default=[])
    parser.add_argument("--sysroot", type=Path, help="of another processor: see target_system.py")
    options = parser.parse_args()

    system = system_of(options.sysroot)
    name = options.package
    kind = name.rstrip("0123456789")
    values = {
        "name": name,
        "version": options.version_file.read_text().strip(),
        "description": DESCRIPTIONS[kind].format(name.removeprefix(kind)),
        "license": LICENSES[kind],
    }
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as scratch:
        folder = Path(temporary)
        files = {place: Path(source) for place, source in (f.split("=", 1) for f in options.file)}
        if options.llvm_file:
            prefix = Path(options.llvm_file.read_text().splitlines()[0])
            files = installed_llvm.files_of(prefix, Path(scratch), system) | files
        # A stand-in has no code of the library whose place it takes.
        linked = [p for p in files.values() if Path(scratch) not in p.parents]
        linked = [p for p in linked if p.is_relative_to(system.place(Path("/usr")))]
        linked += third_party.archives_of(options.link_lines.read_text().splitlines(), system)
        components = third_party.debian_components(linked, system)
        bill = third_party.bill_of_materials(name, values["version"], components)
        (Path(scratch) / wheels.LICENSES).write_text(third_party.licenses_text(components))
        options.license.append(Path(scratch) / wheels.LICENSES)
        licenses = {f"licenses/{path.name}": path for path in options.license}
        places = {f"{name}/{place}": path for place, path in files.items()}
        wheels.stage(places | licenses, folder, system)
        if options.llvm_file:
            installed_llvm.point_to_own_libraries(folder / name)
        (folder / name / "__init__.py").write_text(f'"""{values["description"]}."""\n')
        (folder / "pyproject.toml").write_text(PROJECT.format(**values))
        wheels.build(folder, options.output.absolute(), bill, system)


if __name__ == "__main__":
    main()
