"""Makes the folder of a release, after a check of its wheels.

Usage: build_release FOLDER --version VERSION --container TEMPLATE [--copy FILE ...]
       [--wheel WHEEL --link_lines FILE ...] [--program PROGRAM ...] [--sysroot FILE]
"""

import argparse
import hashlib
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

from tools import archives, check_wheel, wheels
from tools.target_system import TargetSystem, system_of


def symbols_of(program: Path, system: TargetSystem) -> bytes:
    """Returns what is stripped off a program, for debuggers."""
    with tempfile.NamedTemporaryFile() as file:
        command = [system.binary_tool("objcopy"), "--only-keep-debug", program, file.name]
        subprocess.run(command, check=True)
        return Path(file.name).read_bytes()


def write_symbols(programs: list[Path], output: Path, system: TargetSystem) -> None:
    """Writes an archive with the symbols of programs."""
    folder = output.name.removesuffix(".tar.xz")
    with lzma.open(output, "wb", preset=3) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for program in programs:
            symbols = symbols_of(program, system)
            archives.add(archive, f"{folder}/{program.name}.debug", symbols)


def write_documents(wheel_paths: list[Path], folder: Path) -> None:
    """Writes the bills of materials of wheels, and one file with their licences."""
    licenses = []
    for path in wheel_paths:
        with ZipFile(path) as wheel:
            bill = check_wheel.document(wheel, wheels.BILL_OF_MATERIALS)
            (folder / f"{path.name.partition('-py3-')[0]}.cdx.json").write_text(bill)
            text = check_wheel.document(wheel, wheels.LICENSES)
            licenses.append(f"{path.name}\n\n{text}")
    (folder / wheels.LICENSES).write_text("\n".join(licenses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--container", type=Path, required=True)
    parser.add_argument("--copy", type=Path, action="append", default=[])
    parser.add_argument("--wheel", type=Path, action="append", default=[])
    parser.add_argument("--link_lines", type=Path, action="append", default=[])
    parser.add_argument("--program", type=Path, action="append", default=[])
    parser.add_argument("--sysroot", type=Path, help="of another processor: see target_system.py")
    options = parser.parse_args()

    system = system_of(options.sysroot)
    problems = []
    for path, lines in zip(options.wheel, options.link_lines, strict=True):
        found = check_wheel.check(path, lines.read_text().splitlines(), system)
        problems += [f"{path.name}: {problem}" for problem in found]
    if problems:
        sys.exit("\n".join(problems))
    folder = options.folder
    folder.mkdir(exist_ok=True)
    for path in options.wheel + options.copy:
        shutil.copyfile(path, folder / path.name)
    symbols = folder / f"compiler_gym-symbols-{options.version}.tar.xz"
    write_symbols(options.program, symbols, system)
    write_documents(options.wheel, folder)
    recipe = options.container.read_text().replace("@VERSION@", options.version)
    (folder / "Containerfile").write_text(recipe)
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}" for p in folder.iterdir()]
    sums.sort(key=lambda line: line.partition("  ")[2])
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()
