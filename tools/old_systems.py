"""Makes programs that are linked on this system run on older ones.

Debian's libraries, and programs that are linked here, refer to functions by the version of the C
and C++ libraries that defined them. Three things make them run with older versions:

- A newer symbol that older libraries have by an older version is referred to without a version. The
  loader takes the one of the system.
- One that they lack is in a small library beside the program, made of ``old_systems/``. It goes
  first, and calls the function of the system where there is one.
- Functions that were in libraries of their own before glibc 2.34, such as libpthread, need those.

Anything else that is too new is an error.

Programs that users link on such a system get the same from startup files and static libraries.
"""

import functools
import struct
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tools.target_system import THIS_SYSTEM, TargetSystem
from tools.third_party import change_elf, needed_by

SOURCES = Path(__file__).with_suffix("")
# C programs do not load the C++ library.
LIBRARIES = {
    "libcompiler_gym_glibc.so": ("functions.c", "start.c"),
    "libcompiler_gym_libstdcxx.so": ("cxx_functions.cc",),
}
# Where symbols were before glibc 2.34, by how their names begin.
_FORMER_LIBRARIES = {"dl": "libdl.so.2", "pthread_": "libpthread.so.0", "shm_": "librt.so.1"}

_Versions = Mapping[str, Collection[str]]


def build_libraries(
    folder: Path, options: Sequence[str] = (), system: TargetSystem = THIS_SYSTEM
) -> dict[Path, set[str]]:
    """Compiles the libraries, and returns the symbols that they define by their paths."""
    found = {}
    for name, sources in LIBRARIES.items():
        path = folder / name
        compiler = system.compiler(is_cxx=sources[0].endswith(".cc"))
        command = [*compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", *options]
        command += ["-Wl,--build-id=none", f"-Wl,-soname,{name}", "-s", "-o", path]
        subprocess.run([*command, *(SOURCES / source for source in sources)], check=True)
        found[path] = {name for name, *_ in system.dynamic_symbols(path, "defined-only")}
    return found


def build_startup_file(original: Path, output: Path, system: TargetSystem = THIS_SYSTEM) -> None:
    """Makes a startup file (crt1.o) whose programs start with an older glibc, too."""
    with tempfile.TemporaryDirectory() as folder:
        start, changed = Path(folder, "start.o"), Path(folder, "crt1.o")
        _compile("-DCOMPILER_GYM_STARTUP_FILE", "start.c", start, system)
        names = "__libc_start_main=__compiler_gym_start_main"
        command = [system.binary_tool("objcopy"), "--redefine-sym", names, original, changed]
        subprocess.run(command, check=True)
        command = [system.binary_tool("ld"), "--relocatable", changed, start, "-o", output]
        subprocess.run(command, check=True)


def build_archive(output: Path, system: TargetSystem = THIS_SYSTEM) -> None:
    """Makes a static library of the functions of C, for programs of an older glibc."""
    with tempfile.TemporaryDirectory() as folder:
        functions = Path(folder, "functions.o")
        _compile("-fPIC", "functions.c", functions, system)
        subprocess.run([system.binary_tool("ar"), "rcsD", output, functions], check=True)


def build_sanitizer_runtime(
    original: Path, output: Path, system: TargetSystem = THIS_SYSTEM
) -> None:
    """Makes a static library of a sanitizer for programs of an older glibc, too."""
    with tempfile.TemporaryDirectory() as folder:
        function = Path(folder, "sysconf.o")
        _compile("-fPIC", "sysconf.c", function, system)
        names = "sysconf=__compiler_gym_sysconf"
        command = ["--enable-deterministic-archives", "--redefine-sym", names, original, output]
        subprocess.run([system.binary_tool("objcopy"), *command], check=True)
        subprocess.run([system.binary_tool("ar"), "rcsD", output, function], check=True)


def _compile(option: str, source: str, output: Path, system: TargetSystem) -> None:
    command = [*system.compiler(), "-O2", "-Wall", "-Wextra", "-Werror", option]
    subprocess.run([*command, "-c", SOURCES / source, "-o", output], check=True)


def adapt(
    path: Path, libraries: Mapping[Path, set[str]], system: TargetSystem = THIS_SYSTEM
) -> None:
    """Changes a program or a shared library, so that the systems of a wheel's tag can load it.

    Args:
        path: The file.
        libraries: The paths of the libraries beside it, and the symbols that they define.
        system: The system that it was built for.

    Raises:
        SystemExit: It needs something that the systems lack.
    """
    needed: set[str] = set()
    for name, library, version in _forget_newer_versions(path, _versions_of(system)):
        defining = {own.name for own, symbols in libraries.items() if name in symbols}
        if not defining and not _has_older_version(name, library, system):
            raise SystemExit(
                f"{path.name} needs {name} of {version}, which the systems of "
                f"{system.platform} lack: define it in {SOURCES.name}"
            )
        former = {place for start, place in _FORMER_LIBRARIES.items() if name.startswith(start)}
        needed |= defining or former
    needed.difference_update(needed_by(path))
    if needed:
        options = [word for name in sorted(needed) for word in ("--add-needed", name)]
        change_elf(path, *options)


@functools.cache
def _versions_of(system: TargetSystem) -> _Versions:
    """Returns the versions of symbols that old systems have, by the name before the version."""
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc
    from auditwheel.policy import WheelPolicies

    policies = WheelPolicies(libc=Libc.GLIBC, arch=Architecture(system.machine))
    return policies.get_policy_by_name(system.platform).symbol_versions


def _is_newer(version: str, versions: _Versions) -> bool:
    name, _, number = version.rpartition("_")
    return name in versions and number not in versions[name]


def _forget_newer_versions(path: Path, versions: _Versions) -> list[tuple[str, str, str]]:
    """Makes references to newer symbols ones without a version.

    Returns:
        The names of the symbols, with the library and the version that they referred to.
    """
    from elftools.elf.elffile import ELFFile

    newer: dict[int, tuple[str, str]] = {}
    found = []
    changes: list[tuple[int, bytes]] = []
    with open(path, "rb") as file:
        elf = ELFFile(file)
        needs = elf.get_section_by_name(".gnu.version_r")
        if needs is None:
            return []
        place = needs["sh_offset"]
        for need, entries in needs.iter_versions():
            entry_place = place + need["vn_aux"]
            older, newer_places = None, []
            for entry in entries:
                if _is_newer(entry.name, versions):
                    newer[entry["vna_other"]] = (need.name, entry.name)
                    newer_places.append(entry_place)
                else:
                    older = entry
                entry_place += entry["vna_next"]
            # The loader looks at all entries, and fails if the library lacks one.
            for entry_place in newer_places:
                if older is None:
                    raise SystemExit(f"expected {path.name} to need an older {need.name}, too")
                changes.append((entry_place, struct.pack("<I", older["vna_hash"])))
                changes.append((entry_place + 8, struct.pack("<I", older["vna_name"])))
            place += need["vn_next"]
        symbols = elf.get_section_by_name(".dynsym")
        numbers = elf.get_section_by_name(".gnu.version")
        for index, (number,) in enumerate(struct.iter_unpack("<H", numbers.data())):
            if number in newer:
                found.append((symbols.get_symbol(index).name, *newer[number]))
                changes.append((numbers["sh_offset"] + 2 * index, struct.pack("<H", 1)))
    with open(path, "r+b") as file:
        for offset, content in changes:
            file.seek(offset)
            file.write(content)
    return found


def _has_older_version(name: str, library: str, system: TargetSystem) -> bool:
    """Returns whether a library still has a symbol for programs that older systems have linked."""
    versions = _versions_of_symbols(library, system).get(name, ())
    return any(not _is_newer(version, _versions_of(system)) for version in versions)


@functools.cache
def _versions_of_symbols(library: str, system: TargetSystem) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, version, _ in system.dynamic_symbols(system.library(library), "defined-only"):
        found.setdefault(name, []).append(version)
    return found
