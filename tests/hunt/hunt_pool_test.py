"""Hunts on the workers of a pool, as on the nodes of a cluster."""

import os

import pytest

from compiler_gym.distributed import Job, open_pool
from compiler_gym.distributed import Limits as PoolLimits
from compiler_gym.hunt.failures import Limits
from compiler_gym.hunt.findings import Findings
from compiler_gym.hunt.hunter import Hunt
from compiler_gym.hunt.passes import Sequences, list_passes, parse_sequence
from compiler_gym.hunt.tasks import Setup, hunt_on_pool
from tests.distributed.tasks import Square
from tests.processes import is_running, wait_until


@pytest.fixture(name="scratch")
def fixture_scratch(tmp_path, monkeypatch):
    """The folder for temporary files of this process and of workers."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture(name="hunt")
def fixture_hunt(tmp_path, fake_opt, module_ll, scratch):
    """Hunts with fixed passes on a pool; returns the hunt, its findings and outcomes."""

    def hunt(passes, trials, seconds=None, opt=fake_opt, program=None):
        known = list_passes(fake_opt)
        folder = tmp_path / "hunt"
        folder.mkdir(exist_ok=True)
        findings = Findings(folder / "findings")
        session = Hunt(folder, Sequences(known, 30, 0.5, parse_sequence(passes, known)), seed=0)
        uris, limits = (program or module_ll.as_uri(),), Limits(seconds=5, reduce_seconds=6)
        setup = Setup(uris, opt, frozenset({"function(crashing)"}), limits)
        outcomes = []
        with open_pool(limits=PoolLimits(workers=2)) as pool:
            assert len([*pool.run(map(Job, map(Square, range(4))))]) == 4  # They have started.
            hunt_on_pool(session, findings, pool, setup, trials, seconds, outcomes.append)
        return session, findings.all(), outcomes

    return hunt


def test_finding_of_a_worker_is_in_the_folder_once(hunt, tmp_path, scratch):
    session, (finding,), outcomes = hunt("adce,crashing,dse", trials=6)
    assert sorted(each.verdict for each in outcomes) == ["found", *["known"] * 5]
    assert session.progress.verdicts == {"found": 1, "known": 5}
    assert (finding.guilty, finding.passes, finding.seen) == ("crashing", ["function(crashing)"], 6)
    assert finding.reachable
    folder = tmp_path / "hunt" / "findings" / finding.name
    assert {"run.sh", "README.md", "finding.json"} <= {path.name for path in folder.iterdir()}
    assert os.access(folder / "run.sh", os.X_OK)
    assert Findings(folder.parent).all() == [finding]
    assert not any(path.name.startswith("compiler_gym") for path in scratch.iterdir())


def test_end_of_the_time_leaves_nothing_behind(hunt, tmp_path, scratch):
    endless, pids = tmp_path / "endless", tmp_path / "pids"
    endless.write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 1000\n")
    endless.chmod(0o755)
    session, findings, outcomes = hunt("adce", trials=None, seconds=2, opt=endless)
    assert (findings, outcomes) == ([], [])
    assert session.given_up >= 1
    started = [*map(int, pids.read_text().split())] if pids.exists() else []
    wait_until(lambda: not any(map(is_running, started)))
    assert not any(path.name.startswith("compiler_gym") for path in scratch.iterdir())


def test_no_trial_works(hunt):
    with pytest.raises(RuntimeError, match="no-such-v0"):
        hunt("adce", trials=3, program="benchmark://no-such-v0")
