"""Lists the files of an installed LLVM that compiler_gym_clang and its like consist of."""

import re
import subprocess
from pathlib import Path

from tools import c_library, old_systems
from tools.target_system import TargetSystem, output_of
from tools.third_party import change_elf, shared_libraries_of

# What the package asks compiler_gym.util.llvm_tools for.
TOOLS = (
    *("clang", "ld.lld", "llc", "lli", "llvm-ar", "llvm-as", "llvm-cxxfilt", "llvm-diff"),
    *("llvm-dis", "llvm-extract", "llvm-link", "llvm-mca", "llvm-nm", "llvm-objcopy"),
    *("llvm-objdump", "llvm-profdata", "llvm-readelf", "llvm-reduce", "llvm-size"),
    *("llvm-stress", "llvm-strip", "opt"),
)
# Of compiler-rt, for a processor: what compiler_gym.envs.llvm.benchmarks.sanitizers links with.
_RUNTIMES = (
    r"(clang_rt\.crt(begin|end)|libclang_rt\.(asan|builtins|msan|profile|tsan|ubsan_standalone)"
    r"([_-](cxx|preinit|static))?)-%s\.(a|a\.syms|o)"
)
# Those that call sysconf for a value that old systems do not know.
_SANITIZERS = r"libclang_rt\.(asan|msan|tsan|ubsan_standalone)-%s\.a"
# LLVM refers to them for what nothing here asks of it: the solver of the static analyser, manifests
# for Windows, the editing of lines, downloads of debug information. They are half as large as all
# the rest.
STAND_INS = ("libcurl.so.", "libedit.so.", "libxml2.so.", "libz3.so.")
_STAND_IN_CODE = """
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *name) {
  fprintf(stderr, "%s is not part of compiler_gym_clang. Set COMPILER_GYM_LLVM to an LLVM of your "
          "system, which has all of it.\\n", name);
  abort();
}

"""


def files_of(prefix: Path, scratch: Path, system: TargetSystem) -> dict[str, Path]:
    """Returns the files by their place in the package.

    Args:
        prefix: The folder of the LLVM in the system.
        scratch: A folder for the libraries that are made.
        system: The system.
    """
    prefix = system.place(prefix)
    files = {f"bin/{name}": (prefix / "bin" / name).resolve(strict=True) for name in TOOLS}
    libraries = shared_libraries_of(files.values(), leaves=STAND_INS, system=system)
    for name in [each for each in libraries if each.startswith(STAND_INS)]:
        others = [*libraries.values(), *files.values()]
        libraries[name] = _stand_in(libraries[name], others, scratch, system)
    files |= {f"lib/{name}": path for name, path in libraries.items()}
    # Each copy reads the configuration in its own folder.
    files["bin/clang-real"] = files[f"{c_library.FOLDER}/clang"] = files["bin/clang"]
    files["bin/clang"] = files["bin/clang++"] = scratch / "clang"
    c_library.build_launcher(scratch / "clang", system=system)
    files |= c_library.files_of(scratch, system)
    (resources,) = (prefix / "lib" / "clang").iterdir()
    place = f"lib/clang/{resources.name}"
    for path in (resources / "include").rglob("*"):
        if path.is_file():
            files[f"{place}/{path.relative_to(resources)}"] = path
    for path in (resources / "lib" / "linux").iterdir():
        if re.fullmatch(_RUNTIMES % system.machine, path.name):
            files[f"{place}/lib/linux/{path.name}"] = path
        if re.fullmatch(_SANITIZERS % system.machine, path.name):
            files[f"{place}/lib/linux/{path.name}"] = scratch / path.name
            old_systems.build_sanitizer_runtime(path, scratch / path.name, system)
    return files


def _stand_in(original: Path, users: list[Path], scratch: Path, system: TargetSystem) -> Path:
    """Makes a library with the symbols of another that are referred to. Calls of them fail."""
    wanted = {
        (name, version)
        for path in users
        for name, version, _ in system.dynamic_symbols(path, "undefined-only")
    }
    defined = {
        (name, version): kind
        for name, version, kind in system.dynamic_symbols(original, "defined-only")
        if (name, version) in wanted
    }
    code, versions = _STAND_IN_CODE, {}
    for (name, version), kind in sorted(defined.items()):
        versions.setdefault(version, []).append(name)
        is_function = kind in "TWti"
        code += f'void {name}(void) {{ fail("{name}"); }}\n' if is_function else f"void *{name};\n"
    script = "".join(
        f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items()
    )
    soname = _soname(original)
    source, map_file, target = (scratch / f"{soname}{end}" for end in (".c", ".map", ""))
    source.write_text(code)
    map_file.write_text(script)
    command = [*system.compiler(), "-w", "-O2", "-fPIC", "-shared", source, "-o", target]
    command += [f"-Wl,-soname,{soname}", f"-Wl,--version-script={map_file}", "-Wl,--build-id=none"]
    subprocess.run(command, check=True)
    return target


def _soname(path: Path) -> str:
    return re.findall(r"\(SONAME\).*\[(\S+)\]", output_of("readelf", "--dynamic", path))[0]


def point_to_own_libraries(folder: Path) -> None:
    """Lets programs and libraries look for libraries in the folder ``lib`` of their package."""
    for path in [*(folder / "bin").iterdir(), folder / c_library.FOLDER / "clang"]:
        change_elf(path, "--set-rpath", "$ORIGIN/../lib")
    for path in (folder / "lib").glob("*.so*"):
        change_elf(path, "--set-rpath", "$ORIGIN")
