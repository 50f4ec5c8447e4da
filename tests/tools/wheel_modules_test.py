"""The wheel has all modules of the source tree, and the extras that the documents name.

A new package goes into compiler_gym/BUILD.
"""

import re
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

from compiler_gym.util.runfiles_path import runfiles_path

TREE = Path(runfiles_path("VERSION")).resolve().parent  # By the link to it.
(WHEEL,) = runfiles_path().glob("compiler_gym-*.whl")
# What OpenEnv's tools make a container of, from a clone.
ELSEWHERE = "compiler_gym/openenv/space/"


def test_no_module_is_left_out():
    paths = {str(path.relative_to(TREE)) for path in TREE.glob("compiler_gym/**/*.py")}
    with ZipFile(WHEEL) as archive:
        missing = paths - set(archive.namelist())
    assert len(paths) > 300
    assert {path for path in missing if not path.startswith(ELSEWHERE)} == set()


def test_documents_name_extras_that_exist():
    with ZipFile(WHEEL) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        extras = message_from_bytes(archive.read(place)).get_all("Provides-Extra")
    named = re.compile(r"extra `(\w+)`|compiler_gym\[(\w+)\]")
    found = {
        name
        for path in [TREE / "README.md", *TREE.glob("docs/**/*.md")]
        for names in named.findall(path.read_text(encoding="utf-8"))
        for name in names
        if name
    }
    assert "sb3" in found
    assert found <= set(extras)
