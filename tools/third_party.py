"""Collects the licences of the libraries in a wheel from the Debian packages that they are of."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

_DOCUMENTS = Path("/usr/share/doc")
_COMMON = re.compile(r"/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]")
# Every system that this runs on has them: they are not part of the wheel.
SYSTEM = re.compile(r"lib(c|gcc_s|m|pthread|stdc\+\+)\.so|ld-linux|linux-vdso")
_RULE = "=" * 80


def output_of(*command: str | Path) -> str:
    """Runs a program and returns what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def archives_of(link_flags: Iterable[str]) -> list[Path]:
    """Returns the static libraries among the options of a linker."""
    found = []
    for flag in link_flags:
        if flag.startswith("-l:"):
            found.append(Path(output_of("gcc", f"-print-file-name={flag[3:]}").strip()))
        elif flag.endswith(".a"):
            found.append(Path(flag))
    return found


def shared_libraries_of(programs: Iterable[Path], leaves: Sequence[str] = ()) -> dict[str, Path]:
    """Returns the shared libraries that programs need, besides those of every system, by name.

    Args:
        programs: The programs and libraries.
        leaves: Names of libraries, or their beginnings. What these need themselves is left out.
    """
    found: dict[str, Path] = {}
    new = list(programs)
    while new:
        path = new.pop()
        needed = re.findall(r"NEEDED +(\S+)", output_of("objdump", "-p", path))
        unknown = [name for name in needed if not SYSTEM.match(name) and name not in found]
        if not unknown:
            continue
        places = dict(re.findall(r"(\S+) => (/\S+)", output_of("ldd", path)))
        for name in unknown:
            found[name] = Path(places[name]).resolve()
            if not name.startswith(tuple(leaves)):
                new.append(found[name])
    return found


def packages_of(libraries: Iterable[Path]) -> dict[str, str]:
    """Returns the names and versions of the Debian packages of libraries.

    Raises:
        SystemExit: A library belongs to no package: nobody knows its licence.
    """
    names = set()
    for path in sorted({library.resolve() for library in libraries}):
        # Packages may name the folder as it was before /lib became a link to /usr/lib.
        for place in (str(path), str(path).removeprefix("/usr")):
            done = subprocess.run(["dpkg", "--search", place], capture_output=True, text=True)
            if done.returncode == 0:
                names.add(done.stdout.partition(":")[0])
                break
        else:
            raise SystemExit(f"expected a library of a Debian package, got {path}: whose is it?")
    query = ["dpkg-query", "--show", "--showformat=${Package} ${Version}\\n"]
    lines = output_of(*query, *sorted(names)).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def licenses_text(packages: dict[str, str]) -> str:
    """Returns the licences of Debian packages, and the common ones that they refer to."""
    title = "Libraries that are linked into the programs of this package, or bundled with it.\n"
    sections, common, known = [], set(), {}
    for name, version in sorted(packages.items()):
        text = (_DOCUMENTS / name / "copyright").read_text(encoding="utf-8", errors="replace")
        common |= set(_COMMON.findall(text))
        # Packages of one source have the same text.
        known.setdefault(text, []).append(f"{name} {version}")
    for text, names in known.items():
        sections.append(f"{_RULE}\n{', '.join(names)}\n{_RULE}\n\n{text.strip()}\n")
    for place in sorted(common):
        path = Path(place)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            sections.append(f"{_RULE}\n{place}\n{_RULE}\n\n{text}\n")
    return "\n".join([title, *sections])
