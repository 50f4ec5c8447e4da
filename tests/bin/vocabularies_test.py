"""The command that gets published vocabularies, without a network."""

import subprocess
import sys

import pytest

from compiler_gym.util.runfiles_path import runfiles_path


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(runfiles_path()))

    def run(*names):
        command = [sys.executable, "-m", "compiler_gym.bin.vocabularies", *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("name", ["inst2vec", "ir2vec"])
def test_downloaded_vocabulary(run, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "origin.txt").touch()
    reply = run(name)
    assert (reply.returncode, reply.stdout) == (0, f"{name}: {tmp_path / name}\n")


def test_both_by_default(run, tmp_path):
    (tmp_path / "inst2vec").mkdir()
    (tmp_path / "inst2vec" / "origin.txt").touch()
    reply = run()
    assert reply.returncode == 1
    assert reply.stdout == f"inst2vec: {tmp_path / 'inst2vec'}\n"
    assert "Downloading IR2Vec 2.1.1" in reply.stderr
    assert "vocabularies: Cannot download IR2Vec 2.1.1" in reply.stderr
    assert "Traceback" not in reply.stderr


def test_unknown_name(run):
    reply = run("nosuch")
    assert reply.returncode == 2
    assert "inst2vec" in reply.stderr
