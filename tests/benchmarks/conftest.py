import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks.programs import PROGRAMS
from compiler_gym.util.runfiles_path import find_service_binary


@pytest.fixture(scope="session")
def small_program(tmp_path_factory):
    """The bitcode file of the smallest program."""
    return PROGRAMS[200].make(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def replay_binary():
    return find_service_binary("Replay", package="benchmarks/llvm_service")


@pytest.fixture(scope="session")
def service_binary():
    return find_service_binary("compiler_gym-llvm-service")


@pytest.fixture
def report(monkeypatch):
    """Runs the main function of a report with the words of a command line; returns its output."""
    monkeypatch.setenv("COLUMNS", "160")

    def run(main, *words):
        app = Typer()
        app.command()(main)
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run
