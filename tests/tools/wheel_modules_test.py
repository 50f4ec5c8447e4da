"""The wheel has all modules of the source tree. A new package goes into compiler_gym/BUILD."""

from pathlib import Path
from zipfile import ZipFile

from compiler_gym.util.runfiles_path import runfiles_path

# What OpenEnv's tools make a container of, from a clone.
ELSEWHERE = "compiler_gym/openenv/space/"


def test_no_module_is_left_out():
    tree = Path(runfiles_path("VERSION")).resolve().parent  # By the link to it.
    paths = {str(path.relative_to(tree)) for path in tree.glob("compiler_gym/**/*.py")}
    (wheel,) = runfiles_path().glob("compiler_gym-*.whl")
    with ZipFile(wheel) as archive:
        missing = paths - set(archive.namelist())
    assert len(paths) > 300
    assert {path for path in missing if not path.startswith(ELSEWHERE)} == set()
