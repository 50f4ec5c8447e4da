"""Shows the sizes of wheels with their largest parts, auditwheel's verdict, and their licences.

Usage: describe_wheels WHEEL..., for example bazel-bin/release/*.whl
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

from tools import check_wheel

LARGEST = 10
MEGABYTE = 1e6


def describe(path: Path) -> str:
    """Returns a table in Markdown about a wheel."""
    with ZipFile(path) as wheel:
        parts = sorted(wheel.infolist(), key=lambda part: -part.compress_size)
        packages = check_wheel.listed_packages(wheel)
    installed = sum(part.file_size for part in parts)
    lines = [
        f"### {path.name}",
        "",
        f"{path.stat().st_size / MEGABYTE:.1f} MB, installed {installed / MEGABYTE:.1f} MB, "
        f"{len(parts)} files.",
        "",
        "| part | MB in the wheel | MB installed |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| `{part.filename}` | {part.compress_size / MEGABYTE:.2f} | "
        f"{part.file_size / MEGABYTE:.2f} |"
        for part in parts[:LARGEST]
    ]
    licenses = Counter(name for names in packages.values() for name in set(names))
    counts = ", ".join(f"{name} ({count})" for name, count in licenses.most_common(LARGEST))
    lines += ["", f"{len(packages)} packages of others, under {len(licenses)} licences: {counts}."]
    command = [sys.executable, "-m", "auditwheel", "show", path]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The rest is the versions of symbols that it needs.
    verdict = " ".join(shown.strip().partition("\n\n")[0].split())
    return "\n".join([*lines, "", f"auditwheel: {verdict}", ""])


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        print(describe(Path(path)))


if __name__ == "__main__":
    main()
