"""Findings in folders for bug reports, and the reduction of the modules that show them."""

import hashlib
import json
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.filesystem import atomic_file_write

FACTS = "finding.json"

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_KEEPING = """\
#!/bin/sh
# Asks the script, and keeps the last module of which it says yes: the reducer can be stopped then.
{asks} "$1" || exit 1
cp "$1" kept.new && mv kept.new {kept}
"""


def folder_name(title: str, key: str) -> str:
    """Returns the name of a finding's folder.

    Args:
        title: The readable part of the name.
        key: The text that tells the finding from others with this title.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:6]
    return _NOT_IN_NAMES.sub("-", f"{title} {digest}".lower()).strip("-")


@contextmanager
def new_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yields a new folder, which is moved to its place after the block, whole or not at all.

    Args:
        folder: The folder of all findings, which need not exist.
        name: The name of the new one. An old one of that name stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
        path = Path(temporary) / name
        path.mkdir()
        yield path
        if not (folder / name).exists():
            path.rename(folder / name)


def read_facts(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the facts of all findings of a folder, which need not exist."""
    for path in sorted(folder.glob(f"*/{FACTS}")):
        yield json.loads(path.read_text(encoding="utf-8"))


def write_facts(folder: Path, finding: Any) -> None:
    """Writes a finding, a dataclass, to its folder."""
    with atomic_file_write(folder / FACTS, fileobj=True, mode="w") as file:
        json.dump(asdict(finding), file, indent=2)
        file.write("\n")


def write_script(path: Path, text: str) -> None:
    """Writes a script that can be executed."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def code_block(text: str, language: str) -> str:
    """Returns code for Markdown."""
    return f"```{language}\n{text.strip()}\n```"


def reduce_module(
    module: Path,
    asks: str,
    kept: Path,
    seconds: float,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
) -> bool:
    """Runs ``llvm-reduce``.

    Args:
        module: The module.
        asks: The start of a shell command in the folder of ``kept``. The path of a module follows.
            Exit code 0 means that the module is good.
        kept: The file for the last good module.
        seconds: The time limit.
        environment: The environment variables.
        options: Further options.

    Returns:
        True if the reduction came to its end.
    """
    folder = kept.parent
    test = folder / "test.sh"
    write_script(test, _KEEPING.format(asks=asks, kept=kept.name))
    command: list[str | Path] = [llvm_tools.tool_path("llvm-reduce"), "-j=1", f"--test={test}"]
    command += [*options, module, "-o", folder / "last.ll"]
    try:
        run_command(command, seconds, cwd=folder, env={**environment})
    except (CommandError, subprocess.TimeoutExpired):
        return False
    return True
