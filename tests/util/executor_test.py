"""Running functions elsewhere."""

import math
import os
import sys
import time
from types import SimpleNamespace

import pytest

from compiler_gym.util.executor import Executor


@pytest.mark.parametrize("kind", ["local", "debug"])
def test_results(kind, tmp_path):
    logs = tmp_path / "logs"
    with Executor(type=kind, cpus=2).get_executor(logs_dir=logs) as executor:
        jobs = [executor.submit(math.pow, i, 2) for i in range(4)]
        failing = executor.submit(math.sqrt, -1)
        keyword = executor.submit(sorted, [1, 3, 2], reverse=True)
        process = executor.submit(os.getpid)
    assert [job.result() for job in jobs] == [0, 1, 4, 9]
    assert keyword.result() == [3, 2, 1]
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        failing.result()
    assert (process.result() == os.getpid()) == (kind == "debug")
    assert logs.is_dir()


def test_timeout_noop_and_block(tmp_path):
    executor = Executor(type="local").get_executor(tmp_path, timeout_hours=0.2 / 3600)
    with executor:
        job = executor.submit(time.sleep, 60)
        with pytest.raises(TimeoutError, match=r"0\.2 seconds"):
            job.result()
        assert executor.submit(math.sqrt, 4).result() == 2
    with Executor(type="noop").get_executor(tmp_path) as executor:
        assert executor.submit(math.sqrt, -1).result() is None
    with Executor(type="local", block=True).get_executor(tmp_path) as executor:
        assert executor.submit(math.sqrt, 4).done()
        assert executor.submit(math.sqrt, -1).done()


class FakeCluster:
    """Stands for ``submitit.AutoExecutor``."""

    def __init__(self, **kwargs):
        self.made_with = kwargs

    def update_parameters(self, **kwargs):
        self.parameters = kwargs

    def submit(self, function, *args, **kwargs):
        return self, function(*args, **kwargs)


@pytest.mark.parametrize("partition", [None, "gpu"])
def test_slurm(partition, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", SimpleNamespace(AutoExecutor=FakeCluster))
    settings = Executor(type="slurm", slurm_partition=partition, cpus=3, gpus=1)
    with settings.get_executor(tmp_path, timeout_hours=1.5) as executor:
        cluster, result = executor.submit(math.sqrt, 4)
    assert result == 2
    assert cluster.made_with == {"folder": tmp_path, "cluster": "slurm"}
    expected = {"timeout_min": 90, "nodes": 1, "cpus_per_task": 3, "gpus_per_node": 1}
    assert cluster.parameters == expected | ({"slurm_partition": "gpu"} if partition else {})


def test_slurm_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ImportError, match=r"pip install 'compiler_gym\[slurm\]'"):
        Executor(type="slurm").get_executor(tmp_path)
