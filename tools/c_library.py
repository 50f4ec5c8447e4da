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
from tools.third_party import output_of

FOLDER = "c-library"
"""The place in the package. The files have the same places in it as in the system."""

LAUNCHER = Path(__file__).with_name("clang_launcher.c")

# Of the kernel's headers, those that the headers of C include, and those of system calls.
_KERNEL_HEADERS = ("asm-generic", "linux", "x86_64-linux-gnu/asm")
_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
_OBJECTS = ("crti.o", "crtn.o", "libc_nonshared.a")
_STARTUP_FILES = ("Scrt1.o", "crt1.o")
_FUNCTIONS = "libcompiler_gym_old_systems.a"
# The linker searches the folder of the script and then those of clang.cfg.
_SCRIPTS = {
    # Since glibc 2.34, the first library has the functions of the last ones.
    "libc.so": f"GROUP ( libc.so.6 libc_nonshared.a {_FUNCTIONS} AS_NEEDED ( "
    "ld-linux-x86-64.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 ) )",
    "libdl.so": "GROUP ( AS_NEEDED ( libdl.so.2 ) )",
    "libgcc_s.so": "GROUP ( libgcc_s.so.1 )",
    "libm.so": "GROUP ( libm.so.6 AS_NEEDED ( libmvec.so.1 ) )",
    "libpthread.so": "GROUP ( AS_NEEDED ( libpthread.so.0 ) )",
    "libresolv.so": "GROUP ( libresolv.so.2 )",
    "librt.so": "GROUP ( AS_NEEDED ( librt.so.1 ) )",
    # clang itself needs it. Programs are linked with -lstdc++ whether they are C++ or not.
    "libstdc++.so": "GROUP ( AS_NEEDED ( libstdc++.so.6 ) )",
    "libutil.so": "GROUP ( AS_NEEDED ( libutil.so.1 ) )",
}
# Debian and Ubuntu, Fedora and SUSE, Arch.
_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
)
_CONFIGURATION = f"""\
# For systems without a C compiler: the headers and startup files of this folder, the linker and
# runtime of LLVM, and the shared libraries of the system. Headers of the system come last.
--sysroot=<CFGDIR>
-idirafter /usr/local/include
-idirafter /usr/include/x86_64-linux-gnu
-idirafter /usr/include
--rtlib=compiler-rt
--unwindlib=libgcc
--ld-path=<CFGDIR>/../bin/ld.lld
{chr(10).join(f"-L{folder}" for folder in _FOLDERS)}
"""


def files_of(scratch: Path) -> dict[str, Path]:
    """Returns the files by their place in the package.

    Args:
        scratch: A folder for the files that are made.
    """
    originals = [*_headers(), *(_LIBRARIES / name for name in _OBJECTS)]
    files = {f"{FOLDER}{path}": path for path in originals}
    made = {f"{_LIBRARIES}/{name}": f"{text}\n" for name, text in _SCRIPTS.items()}
    # In C++ mode, clang reads the second one.
    made |= {"/clang.cfg": _CONFIGURATION, "/clang++.cfg": "@clang.cfg\n"}
    for place, text in made.items():
        path = scratch / Path(place).name
        path.write_text(text)
        files[f"{FOLDER}{place}"] = path
    for name in _STARTUP_FILES:
        path = scratch / name
        old_systems.build_startup_file(_LIBRARIES / name, path)
        files[f"{FOLDER}{_LIBRARIES / name}"] = path
    path = scratch / _FUNCTIONS
    old_systems.build_archive(path)
    files[f"{FOLDER}{_LIBRARIES / _FUNCTIONS}"] = path
    return files


def made_places() -> set[Path]:
    """Returns the places in the system of the files that are made, and not copied from there."""
    return {_LIBRARIES / name for name in (*_SCRIPTS, _FUNCTIONS)}


def build_launcher(output: Path, system: str = "") -> None:
    """Compiles the program that starts clang.

    Args:
        output: The program.
        system: The folder in which it looks for a C library; empty for the root folder.
    """
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", f'-DSYSTEM="{system}"', LAUNCHER]
    subprocess.run([*command, "-Wl,--build-id=none", "-s", "-o", output], check=True)


def _headers() -> Iterator[Path]:
    kernel = tuple(f"/usr/include/{folder}/" for folder in _KERNEL_HEADERS)
    for package, beginnings in (("libc6-dev", "/usr/include/"), ("linux-libc-dev", kernel)):
        for name in sorted(output_of("dpkg", "--listfiles", package).splitlines()):
            if name.startswith(beginnings) and Path(name).is_file():
                yield Path(name)
