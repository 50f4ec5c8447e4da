"""The commands still say what the files of tests/golden/commands/ have."""

import pytest

from tests.golden.commands import FILES, Session, check


@pytest.fixture(name="session", scope="module")
def fixture_session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_commands(session, path):
    check(path, session.record(path))
