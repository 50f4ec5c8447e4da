"""Lists the files of the C library that the package compiler_gym_clang has for bare systems.

They are headers, startup files, and scripts that make the linker use the libraries of the system.
``clang_launcher.c`` decides whether clang uses them.

The system may have an older glibc than that of the headers. Programs then get the functions that it
lacks from ``old_systems``, and what starts them, too.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools import old_systems
from tools.target_system import THIS_SYSTEM, TargetSystem

FOLDER = "c-library"
"""The place in the package. The files have the same places in it as in the system."""

LAUNCHER = Path(__file__).with_name("clang_launcher.c")

# Of the kernel's headers, those that the headers of C include, and those of system calls.
_KERNEL_HEADERS = ("asm-generic", "linux")
_OBJECTS = ("crti.o", "crtn.o", "libc_nonshared.a")
_STARTUP_FILES = ("Scrt1.o", "crt1.o")
_FUNCTIONS = "libcompiler_gym_old_systems.a"
_LOADERS = {"aarch64": "ld-linux-aarch64.so.1", "x86_64": "ld-linux-x86-64.so.2"}
# The linker searches the folder of the script and then those of clang.cfg.
_SCRIPTS = {
    # Since glibc 2.34, the first library has the functions of the last ones.
    "libc.so": f"GROUP ( libc.so.6 libc_nonshared.a {_FUNCTIONS} AS_NEEDED ( "
    "{loader} libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 ) )",
    "libdl.so": "GROUP ( AS_NEEDED ( libdl.so.2 ) )",
    "libgcc_s.so": "GROUP ( libgcc_s.so.1 )",
    "libm.so": "GROUP ( libm.so.6{vector_functions} )",
    "libpthread.so": "GROUP ( AS_NEEDED ( libpthread.so.0 ) )",
    "libresolv.so": "GROUP ( libresolv.so.2 )",
    "librt.so": "GROUP ( AS_NEEDED ( librt.so.1 ) )",
    # clang itself needs it. Programs are linked with -lstdc++ whether they are C++ or not.
    "libstdc++.so": "GROUP ( AS_NEEDED ( libstdc++.so.6 ) )",
    "libutil.so": "GROUP ( AS_NEEDED ( libutil.so.1 ) )",
}
# Of the oldest systems, only those with this processor have them.
_VECTOR_FUNCTIONS = {"x86_64": " AS_NEEDED ( libmvec.so.1 )"}
# Debian and Ubuntu, Fedora and SUSE, Arch.
_FOLDERS = (
    "/lib/{multiarch}",
    "/usr/lib/{multiarch}",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
)
_CONFIGURATION = f"""\
# For systems without a C compiler: the headers and startup files of this folder, the linker and
# runtime of LLVM, and the shared libraries of the system. Headers of the system come last.
--sysroot=<CFGDIR>
-idirafter /usr/local/include
-idirafter /usr/include/{{multiarch}}
-idirafter /usr/include
--rtlib=compiler-rt
--unwindlib=libgcc
--ld-path=<CFGDIR>/../bin/ld.lld
{chr(10).join(f"-L{folder}" for folder in _FOLDERS)}
"""


def files_of(scratch: Path, system: TargetSystem = THIS_SYSTEM) -> dict[str, Path]:
    """Returns the files by their place in the package.

    Args:
        scratch: A folder for the files that are made.
        system: The system whose C library it is.
    """
    folder = system.libraries
    originals = [*_headers(system), *(folder / name for name in _OBJECTS)]
    files = {f"{FOLDER}{path}": system.place(path) for path in originals}
    values = {
        "loader": _LOADERS[system.machine],
        "multiarch": folder.name,
        "vector_functions": _VECTOR_FUNCTIONS.get(system.machine, ""),
    }
    made = {f"{folder}/{name}": f"{text.format(**values)}\n" for name, text in _SCRIPTS.items()}
    # In C++ mode, clang reads the second one.
    made |= {"/clang.cfg": _CONFIGURATION.format(**values), "/clang++.cfg": "@clang.cfg\n"}
    for place, text in made.items():
        path = scratch / Path(place).name
        path.write_text(text)
        files[f"{FOLDER}{place}"] = path
    for name in _STARTUP_FILES:
        path = scratch / name
        old_systems.build_startup_file(system.place(folder / name), path, system)
        files[f"{FOLDER}{folder / name}"] = path
    path = scratch / _FUNCTIONS
    old_systems.build_archive(path, system)
    files[f"{FOLDER}{folder / _FUNCTIONS}"] = path
    return files


def made_places(system: TargetSystem = THIS_SYSTEM) -> set[Path]:
    """Returns the places in the system of the files that are made, and not copied from there."""
    return {system.libraries / name for name in (*_SCRIPTS, _FUNCTIONS)}


def build_launcher(output: Path, root: str = "", system: TargetSystem = THIS_SYSTEM) -> None:
    """Compiles the program that starts clang.

    Args:
        output: The program.
        root: The folder in which it looks for a C library; empty for the root folder.
        system: The system that runs it.
    """
    command = [*system.compiler(), "-O2", "-Wall", "-Wextra", "-Werror", f'-DSYSTEM="{root}"']
    command += [f'-DMACHINE="{system.machine}"', LAUNCHER]
    command += ["-Wl,--build-id=none", "-s", "-o", output]
    subprocess.run(command, check=True)


def _headers(system: TargetSystem) -> Iterator[Path]:
    names = (*_KERNEL_HEADERS, f"{system.libraries.name}/asm")
    kernel = tuple(f"/usr/include/{folder}/" for folder in names)
    for package, beginnings in (("libc6-dev", "/usr/include/"), ("linux-libc-dev", kernel)):
        for path in system.package_files(package):
            if str(path).startswith(beginnings) and system.place(path).is_file():
                yield path
