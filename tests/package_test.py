import os
import re
import sys
from pathlib import Path

import pytest

import compiler_gym
from compiler_gym import envs, service, wrappers
from tests.processes import run_interpreter


def modules_after(script: str) -> set[str]:
    """The modules that a new interpreter has loaded after a script."""
    done = run_interpreter("-c", f"{script}\nimport sys; print(*sys.modules)")
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "name",
    ["config", "datasets", "envs", "errors", "service", "spaces", "vector", "views", "wrappers"],
)
def test_subpackages(name):
    assert f"compiler_gym.{name}" in modules_after(
        f"import compiler_gym\ncompiler_gym.{name}.__name__"
    )


def test_public_names():
    for package in (compiler_gym, envs, service, wrappers):
        for name in package.__all__:
            assert getattr(package, name) is not None
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = package.no_such_name
    assert {*compiler_gym.__all__} <= {*dir(compiler_gym)}


def test_random_search_is_the_function():
    """Also once the module of this name has been imported."""
    script = "import compiler_gym.random_search, compiler_gym; print(compiler_gym.random_search)"
    assert "<function" in modules_after(script)
    assert callable(compiler_gym.random_search)


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", compiler_gym.__version__)
    version_file = Path(compiler_gym.__file__).parent.parent / "VERSION"
    if version_file.is_file():
        assert compiler_gym.__version__ == version_file.read_text().strip()


def install_another(folder):
    """Makes the metadata of an installed package of version 4.5.6."""
    metadata = folder / "compiler_gym-4.5.6.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: compiler_gym\nVersion: 4.5.6\n")


def version_in(folder, *path):
    """The version that a new interpreter finds whose path begins with these folders."""
    script = "import compiler_gym; print(compiler_gym.__version__)"
    found = {"PYTHONPATH": os.pathsep.join([*map(str, path), *sys.path])}
    return run_interpreter("-c", script, cwd=folder, env=found).stdout.strip()


def test_version_of_an_installed_package(tmp_path):
    """Another package may have put a file VERSION beside it."""
    (tmp_path / "compiler_gym").symlink_to(Path(compiler_gym.__file__).parent)
    install_another(tmp_path)
    (tmp_path / "VERSION").write_text("7.8.9\n")
    assert version_in(tmp_path, tmp_path) == "4.5.6"


def test_version_of_a_source_tree_beside_an_installed_package(tmp_path):
    tree, installed = tmp_path / "tree", tmp_path / "installed"
    for folder in (tree, installed):
        folder.mkdir()
    (tree / "compiler_gym").symlink_to(Path(compiler_gym.__file__).parent)
    (tree / "VERSION").write_text("7.8.9\n")
    (installed / "compiler_gym").mkdir()
    install_another(installed)
    assert version_in(tmp_path, tree, installed) == "7.8.9"


def test_slow_modules_are_loaded_on_demand():
    """The import of the package loads no other package, and little of its own."""
    loaded = modules_after("import compiler_gym") - modules_after("pass")
    own = {name for name in loaded if name.partition(".")[0] == "compiler_gym"}
    others = {name.partition(".")[0] for name in loaded - own} - set(sys.stdlib_module_names)
    assert others == set()
    assert len(own) < 30
    assert "compiler_gym.envs.llvm.llvm_env" not in loaded
