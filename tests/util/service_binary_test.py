"""Finding service binaries."""

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import runfiles_path
from compiler_gym.util.runfiles_path import find_service_binary, find_service_file


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The candidate paths of a binary, in search order."""
    package = tmp_path / "source/compiler_gym"
    monkeypatch.setattr(runfiles_path, "_PACKAGE_DIRECTORY", package)
    return [
        package / "_service/the-service",
        tmp_path / "source/llvm_service/the-service",
        tmp_path / "source/bazel-bin/llvm_service/the-service",
    ]


def make_executable(path):
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)


def test_order(places):
    for place in reversed(places):
        make_executable(place)
        assert find_service_binary("the-service") == place


def test_files_that_are_not_executable_are_skipped(places):
    places[0].mkdir(parents=True)
    places[1].parent.mkdir(parents=True)
    places[1].touch(mode=0o644)
    make_executable(places[-1])
    assert find_service_binary("the-service") == places[-1]


def test_files_beside_the_service(places):
    assert find_service_file("the-service") is None
    places[1].parent.mkdir(parents=True)
    places[1].touch(mode=0o644)
    assert find_service_file("the-service") == places[1]


def test_companion_package(places, monkeypatch, tmp_path):
    companion = tmp_path / "path" / "compiler_gym_mlir"
    companion.mkdir(parents=True)
    (companion / "the-service").touch(mode=0o755)
    monkeypatch.syspath_prepend(str(companion.parent))
    assert find_service_binary("the-service", "mlir_service") == companion / "the-service"
    with pytest.raises(EnvironmentNotSupported, match=r"pip install 'compiler_gym\[mlir\]'"):
        find_service_binary("missing", "mlir_service")


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("compiler_gym-llvm-service", "llvm_service", "--force-reinstall compiler_gym"),
        ("compiler_gym-llvm-service-shared", "llvm_service", "'compiler_gym[clang]'"),
        ("compiler_gym-mlir-service", "mlir_service", "'compiler_gym[mlir]'"),
    ],
)
def test_a_missing_service_names_the_package_to_install(places, name, package, command):
    places[0].parent.mkdir(parents=True)
    with pytest.raises(EnvironmentNotSupported) as error:
        find_service_binary(name, package)
    assert str(error.value) == f'{name} is not installed; try "pip install {command}"'
