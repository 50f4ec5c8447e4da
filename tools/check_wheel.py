"""Compares what is in a wheel with what its documents list.

What is linked into the programs is read from the commands that link them, what they load from the
programs themselves.
"""

import json
import re
import tempfile
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

from tools import c_library, installed_llvm, third_party, wheels
from tools.target_system import THIS_SYSTEM, TargetSystem

# What auditwheel adds to the names of the libraries that it bundles.
_HASH = re.compile(r"-[0-9a-f]{8}(?=\.so)")
# auditwheel bundles no zlib, which is on every Linux that the tag allows.
_ALLOWED = {"libz.so.1"}


def document(wheel: ZipFile, name: str) -> str:
    """Returns one of the documents about third parties in a wheel."""
    (place,) = (n for n in wheel.namelist() if n.endswith(f"/{name}"))
    return wheel.read(place).decode()


def listed_packages(wheel: ZipFile) -> dict[str, list[str]]:
    """Returns the names of licences by the packages in the bill of materials."""
    bill = json.loads(document(wheel, wheels.BILL_OF_MATERIALS))
    return {
        f"{component['name']} {component['version']}": [
            entry["license"]["name"] for entry in component.get("licenses", ())
        ]
        for component in bill["components"]
    }


def check(path: Path, link_line: Sequence[str], system: TargetSystem = THIS_SYSTEM) -> list[str]:
    """Returns what is wrong with a wheel, one problem in a line.

    Args:
        path: The wheel.
        link_line: The arguments of the commands that link its programs.
        system: The system that it was built for.
    """
    with ZipFile(path) as wheel, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = listed_packages(wheel)
        licenses = document(wheel, wheels.LICENSES)
        programs = list(_extract_programs(wheel, folder))
        problems = [f"{package} has no licence" for package in listed if package not in licenses]
        problems += unlisted(link_line, listed, system)
        problems += _unlisted_copies(wheel, listed, system)
        bundled = {program.name for program in programs}
        packages_of = _packages_of_copies(bundled, system)
        for program in programs:
            place = program.relative_to(folder)
            packages = packages_of[program.name]
            if packages and not packages & listed.keys():
                problems.append(f"{place} is of {packages}, which the bill of materials lacks")
            problems += [
                f"{place} needs {n}, got none" for n in _needed(program) - bundled - _ALLOWED
            ]
    return problems


def unlisted(
    link_line: Sequence[str], listed: Container[str], system: TargetSystem = THIS_SYSTEM
) -> list[str]:
    """Returns the packages of static libraries that are linked and not listed, as problems."""
    linked = third_party.debian_components(third_party.archives_of(link_line, system), system)
    return [
        f"{name} is linked, and not in the bill of materials"
        for name in map(_name, linked)
        if name not in listed
    ]


def _unlisted_copies(wheel: ZipFile, listed: Container[str], system: TargetSystem) -> list[str]:
    """Returns the packages of the C library in a wheel that are not listed, as problems."""
    places = [name.partition(f"/{c_library.FOLDER}/")[2] for name in wheel.namelist()]
    paths = {Path("/", place) for place in places} - c_library.made_places(system)
    originals = [path for path in map(system.place, paths) if path.is_file()]
    return [
        f"{name} is copied, and not in the bill of materials"
        for name in map(_name, third_party.debian_components(originals, system))
        if name not in listed
    ]


def _extract_programs(wheel: ZipFile, folder: Path) -> Iterator[Path]:
    for entry in wheel.infolist():
        with wheel.open(entry) as file:
            if file.read(len(wheels.ELF)) != wheels.ELF:
                continue
        path = Path(wheel.extract(entry, folder))
        if wheels.is_elf(path):
            yield path


def _name(package: third_party.Component) -> str:
    return f"{package.name} {package.version}"


def _packages_of_copies(names: Iterable[str], system: TargetSystem) -> dict[str, set[str]]:
    """Returns the Debian packages that programs and libraries in a wheel may be copies from.

    All are looked up at once, because dpkg reads the lists of all packages each time.
    """
    originals = {name: _originals(name, system) for name in names}
    every = [path for paths in originals.values() for path in paths]
    owners = third_party.owners_of(every, system)
    packages = {each.name: _name(each) for each in third_party.debian_components(every, system)}
    return {
        name: {packages[owners[path.resolve()]] for path in paths}
        for name, paths in originals.items()
    }


def _originals(name: str, system: TargetSystem) -> list[Path]:
    """Returns the files of Debian that a program or library in a wheel may be a copy of."""
    name = _HASH.sub("", name)
    # They have the name of a library, and none of its code.
    if name.startswith(installed_llvm.STAND_INS):
        return []
    # Where Debian has the files that are copied into wheels.
    folders = ("usr/lib/llvm-*/bin", "usr/lib/llvm-*/lib", system.libraries.relative_to("/"))
    found = [path for folder in folders for path in system.root.glob(f"{folder}/{name}")]
    return [path for path in found if path.is_file()]


def _needed(program: Path) -> set[str]:
    """Returns the names of the libraries that a program loads, but for those of every system."""
    needed = third_party.needed_by(program)
    return {name for name in needed if not third_party.SYSTEM.match(name)}
