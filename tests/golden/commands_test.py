"""The commands and the tools of agents still say what the files of tests/golden/ have."""

from difflib import unified_diff

import pytest

from tests.golden import agent_tools
from tests.golden.commands import FILES, Session

_RENEW = "If that is meant, record it again: bazel run //tests/golden:record_commands"


def check(path, text):
    before = path.read_text(encoding="utf-8")
    lines = unified_diff(before.splitlines(), text.splitlines(), path.name, "now", lineterm="")
    assert text == before, "\n".join([*lines, _RENEW])


@pytest.fixture(name="session", scope="module")
def fixture_session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_commands(session, path):
    check(path, session.record(path))


def test_tools_of_agents():
    check(agent_tools.PATH, agent_tools.record())
