"""Starting, watching and ending service executables."""

import gc
import os
import signal
import stat
from pathlib import Path

import pytest

from compiler_gym.errors import ServiceInitError
from compiler_gym.service import ConnectionOpts
from compiler_gym.service.process.child_process import ChildProcess
from compiler_gym.service.process.managed_service import ManagedService
from tests.processes import is_running
from tests.service.toy_service import toy_service


@pytest.fixture(autouse=True)
def cache_root(monkeypatch, tmp_path) -> Path:
    """The folder of working directories, of this test alone."""
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / "transient"))
    return tmp_path / "transient" / "s"


@pytest.fixture
def script(tmp_path):
    """Makes an executable of a shell script."""

    def make(text: str) -> Path:
        path = tmp_path / "service.sh"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def test_file_that_is_not_executable(tmp_path, cache_root):
    (tmp_path / "text").write_text("text")
    with pytest.raises(PermissionError):
        ManagedService(tmp_path / "text", ConnectionOpts())
    assert list(cache_root.iterdir()) == []


def test_service_without_a_port_in_time(script, cache_root):
    path = script("sleep 1000")
    opts = ConnectionOpts(local_service_port_init_max_seconds=0.2)
    with pytest.raises(ServiceInitError, match=r"0\.2 seconds"):
        ManagedService(path, opts)
    assert list(cache_root.iterdir()) == []


def test_malformed_port(script):
    path = script("echo abc > ${1#--working_dir=}/port.txt; sleep 1000")
    with pytest.raises(ServiceInitError, match="abc"):
        ManagedService(path, ConnectionOpts())


def test_arguments_and_environment(script, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SERVICE_ARGS", "--from_variable --another='a b'")
    monkeypatch.delenv("GRPC_VERBOSITY", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPILER_GYM_CACHE", "cache")  # The service is not started here.
    path = script(
        f'echo "$0" "$#" "$@" > {tmp_path}/args; env > {tmp_path}/env; pwd > {tmp_path}/pwd'
    )
    opts = ConnectionOpts(script_args=["--a", "b c"], script_env={"MINE": "1"})
    with pytest.raises(ServiceInitError):
        ManagedService(path, opts)
    program, count, working_dir, *rest = (tmp_path / "args").read_text().split()
    assert program == str(path)
    assert count == "5"
    assert working_dir.startswith("--working_dir=")
    assert rest == ["--from_variable", "--another=a", "b", "--a", "b", "c"]
    env = (tmp_path / "env").read_text().splitlines()
    assert {"MINE=1", "GRPC_VERBOSITY=NONE"} <= set(env)
    names = {line.partition("=")[0] for line in env}
    assert {"COMPILER_GYM_RUNFILES", "COMPILER_GYM_SITE_DATA", "PYTHONPATH", "PATH"} <= names
    assert f"COMPILER_GYM_CACHE={tmp_path}/cache" in env
    assert (tmp_path / "pwd").read_text().strip() == str(tmp_path)


def test_without_a_folder_of_caches(script, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "file"))
    # Working directories in memory need one, too.
    monkeypatch.setattr("compiler_gym.service.process.service_cache.is_in_memory", lambda _: False)
    with pytest.raises(ServiceInitError, match="code 7"):
        ManagedService(script("exit 7"), ConnectionOpts())


@pytest.mark.parametrize(
    ("level", "flags"),
    [
        ("0", []),
        ("1", ["--alsologtostderr", "-v=0", "--logbuflevel=-1"]),
        ("4", ["--alsologtostderr", "-v=3", "--logbuflevel=-1"]),
    ],
)
def test_debug_level(script, tmp_path, monkeypatch, level, flags):
    monkeypatch.setenv("COMPILER_GYM_DEBUG", level)
    path = script(f'echo "$@" > {tmp_path}/args')
    with pytest.raises(ServiceInitError):
        ManagedService(path, ConnectionOpts())
    assert (tmp_path / "args").read_text().split()[1:] == flags


def test_debug_output_goes_to_the_terminal(monkeypatch, capfd):
    monkeypatch.setenv("COMPILER_GYM_DEBUG", "2")
    ManagedService(toy_service(), ConnectionOpts()).close()
    assert "listening on port" in capfd.readouterr().err


def test_garbage_is_closed(cache_root):
    service = ManagedService(toy_service(), ConnectionOpts())
    pid = service.pid
    del service
    gc.collect()
    assert not is_running(pid)
    assert list(cache_root.iterdir()) == []


def test_a_forked_process_leaves_the_service_to_its_owner(monkeypatch):
    service = ManagedService(toy_service(), ConnectionOpts())
    pid, path = service.pid, service.working_dir
    monkeypatch.setattr(os, "getpid", lambda: 999_999_999)
    service.close()
    del service
    gc.collect()
    monkeypatch.undo()
    assert is_running(pid)
    assert path.is_dir()
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_interrupted_start_leaves_nothing(monkeypatch, cache_root):
    started = []

    def interrupt(self, max_seconds):
        started.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(ManagedService, "_wait_for_port", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ManagedService(toy_service(), ConnectionOpts())
    assert not is_running(started[0])
    assert list(cache_root.iterdir()) == []


def test_interrupted_close_leaves_nothing(script, monkeypatch, cache_root):
    path = script(
        "trap '' TERM; echo 1 > ${1#--working_dir=}/port.txt; while true; do sleep 1; done"
    )
    service = ManagedService(path, ConnectionOpts())
    wait = ChildProcess.wait

    def interrupt(self, max_seconds):
        if max_seconds == 30:
            raise KeyboardInterrupt
        return wait(self, max_seconds)

    monkeypatch.setattr(ChildProcess, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        service.close()
    assert not is_running(service.pid)
    assert list(cache_root.iterdir()) == []
