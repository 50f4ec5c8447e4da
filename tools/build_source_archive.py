"""Archives all files of the source tree that git knows, as they are now.

Usage: build_source_archive WORKSPACE ARCHIVE.tar.gz, where WORKSPACE may be a link to the tree's.
"""

import os
import subprocess
import sys
from pathlib import Path

from tools import archives


def main() -> None:
    tree = Path(sys.argv[1]).resolve().parent
    output = Path(sys.argv[2])
    command = ["git", "-C", tree, "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"expected a clone of the repository in {tree}, got: {listed.stderr.strip()}")
    folder = output.name.removesuffix(".tar.gz")
    with archives.create(output) as archive:
        for name in sorted(filter(None, listed.stdout.split("\0"))):
            path = tree / name
            # A deleted file is still in the index.
            if path.is_file():
                archives.add(
                    archive, f"{folder}/{name}", path.read_bytes(), os.access(path, os.X_OK)
                )


if __name__ == "__main__":
    main()
