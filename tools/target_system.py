"""The system whose libraries go into wheels: this one, or one of another processor in a folder.

``tools/sysroot.sh`` makes such a folder, which has the packages of Debian and dpkg's list of them.
"""

import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The oldest systems of the wheels have the glibc of Debian 11 and Ubuntu 20.04.
_OLDEST_GLIBC = "2_31"


def output_of(*command: str | Path) -> str:
    """Runs a program and returns what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class TargetSystem:
    """A system that programs are built for.

    Attributes:
        machine: The processor as in the names of wheels, such as ``x86_64``.
        root: The folder of the system. That of this one is ``/``.
        tools: The folder of the LLVM whose compiler builds for other processors.
    """

    machine: str = platform.machine()
    root: Path = Path("/")
    tools: Path = Path()

    @property
    def platform(self) -> str:
        """The tag of wheels that names the oldest system on which they run."""
        return f"manylinux_{_OLDEST_GLIBC}_{self.machine}"

    @property
    def is_this(self) -> bool:
        """True for the system that builds."""
        return self.root == Path("/")

    @property
    def libraries(self) -> Path:
        """The folder in which Debian has libraries, as the system itself names it."""
        return Path("/usr/lib", f"{self.machine}-linux-gnu")

    def place(self, path: Path) -> Path:
        """Returns where a file of the system is on this one."""
        return self.root / path.relative_to("/")

    def compiler(self, is_cxx: bool = False) -> list[str | Path]:
        """Returns the command that compiles and links C or C++."""
        if self.is_this:
            return ["g++" if is_cxx else "gcc"]
        name = "clang++" if is_cxx else "clang"
        target = [f"--target={self.machine}-linux-gnu", f"--sysroot={self.root}"]
        # The linker is of no use where nothing is linked.
        target += ["-fuse-ld=lld", "-Wno-unused-command-line-argument"]
        return [self.tools / "bin" / name, *target]

    def binary_tool(self, name: str) -> str:
        """Returns the name of a program of GNU's binutils for this processor, such as ``strip``."""
        return name if self.is_this else f"{self.machine}-linux-gnu-{name}"

    def dynamic_symbols(self, path: Path, kind: str) -> list[tuple[str, str, str]]:
        """Returns the name, the version and the type of dynamic symbols of a file.

        Args:
            path: The file.
            kind: ``defined-only`` or ``undefined-only``.
        """
        command = [self.binary_tool("nm"), "--dynamic", "--with-symbol-versions", f"--{kind}"]
        symbols = []
        for line in output_of(*command, path).splitlines():
            symbol_type, symbol = line.split()[-2:]
            name, _, version = symbol.replace("@@", "@").partition("@")
            symbols.append((name, version, symbol_type))
        return symbols

    def library(self, name: str) -> Path:
        """Returns where a library is that the linker finds by its file name."""
        return Path(output_of(*self.compiler(), f"-print-file-name={name}").strip())

    def loaded_libraries(self, program: Path) -> dict[str, Path]:
        """Returns the paths of the shared libraries that a program loads, by their names."""
        if self.is_this:
            return {
                n: Path(p) for n, p in re.findall(r"(\S+) => (/\S+)", output_of("ldd", program))
            }
        # The program's own folders come first. Those of the system are as they were before /lib
        # became a link to /usr/lib.
        entries = output_of("readelf", "--dynamic", program)
        own = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", entries)
        names = [name for names in own for name in names.split(":")]
        folders = [
            Path(name.replace("$ORIGIN", str(program.parent)))
            if name.startswith("$ORIGIN")
            else self.place(Path(name))
            for name in names
        ]
        folders += [self.place(Path("/", *self.libraries.parts[2:])), self.place(self.libraries)]
        places = [path for folder in reversed(folders) for path in folder.glob("*.so*")]
        return {path.name: path for path in places}

    def owners(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Returns the Debian packages of files. Those that belong to none are left out.

        Args:
            paths: Resolved paths.
        """
        places = {f"/{path.relative_to(self.root)}": path for path in paths}
        if not places:
            return {}
        # Packages may name the folder as it was before /lib became a link to /usr/lib, or the other
        # way round. One of the two names is unknown then, and the exit code is 1.
        names = [*places, *(place.removeprefix("/usr") for place in places)]
        command = ["dpkg", f"--root={self.root}", "--search", *names]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        # Several packages may have a file: "one, two: /place", each with ":amd64" or without.
        pairs = (line.split(": ", 1) for line in lines)
        owned = {place: re.split("[:,]", owner)[0] for owner, place in pairs}
        found = {p: owned.get(n) or owned.get(n.removeprefix("/usr")) for n, p in places.items()}
        return {path: owner for path, owner in found.items() if owner}

    def package_versions(self, names: Iterable[str]) -> dict[str, str]:
        """Returns the versions of Debian packages by their names."""
        query = ["dpkg-query", f"--admindir={self.place(Path('/var/lib/dpkg'))}", "--show"]
        lines = output_of(*query, "--showformat=${Package} ${Version}\\n", *sorted(names))
        return dict(line.split(" ", 1) for line in lines.splitlines())

    def package_files(self, name: str) -> list[Path]:
        """Returns the places of a package's files in the system."""
        lines = output_of("dpkg", f"--root={self.root}", "--listfiles", name).splitlines()
        return sorted(Path(line) for line in lines)

    def package_license(self, name: str) -> str:
        """Returns the text about the licences of a package."""
        path = self.place(Path("/usr/share/doc", name, "copyright"))
        return path.read_text(encoding="utf-8", errors="replace")


THIS_SYSTEM = TargetSystem()


def system_of(sysroot: Path | None) -> TargetSystem:
    """Returns the system in a folder that ``tools/sysroot.sh`` has made; without one, this one.

    Args:
        sysroot: A file with the folder, the machine and the folder of an LLVM, each in a line.
    """
    if sysroot is None:
        return THIS_SYSTEM
    root, machine, tools = sysroot.read_text().splitlines()
    return TargetSystem(machine, Path(root), Path(tools))
