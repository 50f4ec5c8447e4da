"""The wheel has all modules and vocabularies of the source tree, and the extras of the documents.

A new package goes into compiler_gym/BUILD.
"""

import re
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from compiler_gym.util.optional_packages import EXTRAS
from compiler_gym.util.runfiles_path import runfiles_path
from tools import installed_llvm

TREE = Path(runfiles_path("VERSION")).resolve().parent  # By the link to it.
(WHEEL,) = runfiles_path().glob("compiler_gym-*.whl")
# What OpenEnv's tools make a container of, from a clone.
ELSEWHERE = "compiler_gym/openenv/space/"


def test_no_file_is_left_out():
    files = [*TREE.glob("compiler_gym/**/*.py"), *TREE.glob("compiler_gym/data/vocabularies/*/*")]
    paths = {str(path.relative_to(TREE)) for path in files}
    assert "compiler_gym/data/vocabularies/inst2vec/embeddings.npy" in paths
    with ZipFile(WHEEL) as archive:
        missing = paths - set(archive.namelist())
    assert len(paths) > 300
    assert {path for path in missing if not path.startswith(ELSEWHERE)} == set()


def test_clang_wheel_has_the_tools_that_modules_name():
    texts = [path.read_text(encoding="utf-8") for path in TREE.glob("compiler_gym/**/*.py")]
    named = {name for text in texts for name in re.findall(r'"(llvm-[a-z]+)"', text)}
    assert "llvm-objdump" in named
    assert named - set(installed_llvm.TOOLS) == set()


def values_of(header: str) -> list[str]:
    """Returns the values of a header of the wheel's metadata."""
    with ZipFile(WHEEL) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(place)).get_all(header)


def test_messages_name_extras_that_have_the_package():
    required = values_of("Requires-Dist")
    for extra, modules in EXTRAS.items():
        found = [each for each in required if re.search(rf"extra == [\"']{extra}[\"']", each)]
        for module in modules:
            name = {"PIL": "pillow", "absl": "absl-py", "sklearn": "scikit-learn"}.get(
                module, module
            )
            assert any(re.match(name.replace("_", "-"), each) for each in found), module


def test_documents_name_extras_that_exist():
    named = re.compile(r"extra `(\w+)`|compiler_gym\[(\w+)\]")
    found = {
        name
        for path in [TREE / "README.md", *TREE.glob("docs/**/*.md")]
        for names in named.findall(path.read_text(encoding="utf-8"))
        for name in names
        if name
    }
    assert "sb3" in found
    assert found <= set(values_of("Provides-Extra"))


@pytest.mark.parametrize(
    ("page", "context"),
    [
        ("troubleshooting.md", "No module named 'gym'"),
        ("coming-from-0.2.5.md", "`pip install compiler_gym`"),
        ("compatibility.md", "The wheel does not install `gym`"),
    ],
)
def test_documents_say_how_to_install_gym(page, context):
    """``import gym`` fails with the wheel alone, and its message does not say what to do."""
    (gym,) = (each for each in values_of("Requires-Dist") if re.match(r"gym\b", each))
    (extra,) = re.findall(r"extra == [\"'](\w+)", gym)
    _, found, rest = (TREE / "docs" / page).read_text(encoding="utf-8").partition(context)
    assert found
    assert f"pip install 'compiler_gym[{extra}]'" in rest[:300]
