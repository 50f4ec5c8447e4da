"""Builds the SDK: one static library of several, with headers and the files that build tools read.

Everything is in a folder of the archive that is named as the archive is. In templates, whose names
end in .in, @VERSION@ is the version, @LINK_FLAGS@ the linker's options for what the library needs,
@LINK_LIST@ the same for CMake, and @LINK_STRINGS@ for Bazel.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import archives

LIBRARY = "lib/libcompiler_gym_runtime.a"
TEMPLATE_PLACES = {
    "compiler_gym-config.cmake.in": "lib/cmake/compiler_gym/compiler_gym-config.cmake",
    "compiler_gym-config-version.cmake.in": (
        "lib/cmake/compiler_gym/compiler_gym-config-version.cmake"
    ),
    "compiler_gym.pc.in": "lib/pkgconfig/compiler_gym.pc",
    "bazel_build.in": "BUILD",
    "bazel_workspace.in": "WORKSPACE",
    "README.md.in": "README.md",
}


def join_archives(archives: Sequence[str]) -> bytes:
    """Returns one static library of several."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        joined = Path(folder) / "joined.a"
        lines = [f"CREATE {joined}", *(f"ADDLIB {path}" for path in archives), "SAVE", "END"]
        subprocess.run(["ar", "-M"], input="\n".join(lines), text=True, check=True)
        subprocess.run(["ranlib", "-D", joined], check=True)
        return joined.read_bytes()


def instantiate(template: str, version: str, flags: Sequence[str]) -> str:
    """Fills in a template."""
    values = {
        "VERSION": version,
        "LINK_FLAGS": " ".join(flags),
        "LINK_LIST": ";".join(flags),
        "LINK_STRINGS": "\n".join(f'        "{flag}",' for flag in flags),
    }
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def place_of(path: str) -> str:
    """Returns where a file of the repository is in the SDK."""
    if path.endswith(".h"):
        return f"include/{path}"
    return f"share/compiler_gym/{Path(path).name}"


def main() -> None:
    """Writes the archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--version_file", type=Path, required=True)
    parser.add_argument("--template", type=Path, action="append", default=[])
    parser.add_argument("--file", action="append", default=[], help="PLACE=SOURCE")
    parser.add_argument("--archive", action="append", default=[])
    parser.add_argument("--link_flag", action="append", default=[])
    options = parser.parse_args()

    version = options.version_file.read_text().strip()
    contents = {LIBRARY: join_archives(options.archive)}
    for file in options.file:
        path, source = file.split("=", 1)
        contents[place_of(path)] = Path(source).read_bytes()
    for template in options.template:
        text = instantiate(template.read_text(), version, options.link_flag)
        contents[TEMPLATE_PLACES[template.name]] = text.encode()
    folder = options.out.name.removesuffix(".tar.gz")
    with archives.create(options.out) as archive:
        for place, data in sorted(contents.items()):
            archives.add(archive, f"{folder}/{place}", data)


if __name__ == "__main__":
    main()
