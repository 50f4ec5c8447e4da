"""A pass that crashes: what the player is told, what is saved, and how to go on."""

import os
import subprocess
from pathlib import Path

import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.service import ConnectionOpts
from compiler_gym.util.llvm_tools import llvm_version, tool_path

BEFORE = ["function(mem2reg)", "function(dce)"]
FATAL = "trigger-crash-module"


@pytest.fixture
def env(tmp_path, monkeypatch):
    """An environment with all passes that LLVM has, also those that crash."""
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "site_data"))
    policy = tmp_path / "policy.yaml"
    policy.write_text("exclude: []\n")
    settings = ConnectionOpts(script_args=[f"--action_policy={policy}"])
    with LlvmEnv(connection_settings=settings) as env:
        yield env


def crash(env: LlvmEnv, recover: bool = False) -> tuple[bool, dict]:
    """Plays the actions up to the fatal one, and returns how that one ended."""
    env.recover = recover
    env.reset()
    names = env.action_space.names
    for name in BEFORE:
        assert not env.step(names.index(name))[2]
    _, _, done, info = env.step(names.index(FATAL))
    return done, info


def reproducer_of(details: str) -> Path:
    (line,) = (line for line in details.splitlines() if line.startswith("Reproducer: "))
    return Path(line.removeprefix("Reproducer: "))


def test_the_player_is_told(env):
    done, info = crash(env)
    assert done
    assert info["error_type"] == "SessionDied"
    index = env.action_space.names.index(FATAL)
    assert "was ended by signal 6 (Aborted)" in info["error_details"]
    assert f"in action '{FATAL}' (number {index}, step 3)" in info["error_details"]


def test_the_reproducer_crashes_opt(env, tmp_path):
    env.reset()
    for name in BEFORE:
        env.step(env.action_space.names.index(name))
    program = env.observation["Bitcode"].tobytes()
    folder = reproducer_of(crash(env)[1]["error_details"])
    assert sorted(path.name for path in folder.iterdir()) == ["before.bc", "run.sh", "start.bc"]
    assert (folder / "before.bc").read_bytes() == program

    script = folder / "run.sh"
    lines = script.read_text().splitlines()
    commands = [line for line in lines if line.startswith('"$opt"')]
    assert len(commands) == 2
    environment = {**os.environ, "opt": str(tool_path("opt"))}
    for command in commands:
        result = subprocess.run(
            command, shell=True, cwd=folder, capture_output=True, env=environment
        )
        assert result.returncode != 0
        assert b"PLEASE submit a bug report" in result.stderr
    # Without the last pass it does not.
    harmless = commands[1].replace(f",{FATAL}", "")
    assert harmless != commands[1]
    subprocess.run(harmless, shell=True, cwd=folder, check=True, env=environment)


def test_the_reproducer_names_the_opt_of_the_service(env, tmp_path):
    """The first opt on the PATH is often another one."""
    for name in ("opt", f"opt-{llvm_version()}"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho this is {name}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    script = reproducer_of(crash(env)[1]["error_details"]) / "run.sh"

    def output(**variables: str) -> str:
        environment = {**os.environ, "PATH": path, **variables}
        reply = subprocess.run(["sh", script], capture_output=True, text=True, env=environment)
        return reply.stdout + reply.stderr

    assert output().count("PLEASE submit a bug report") == 2
    assert output(OPT=str(tmp_path / "opt")) == "this is opt\n" * 2
    # On a machine that has it elsewhere.
    assert output(OPT="/nowhere/opt") == f"this is opt-{llvm_version()}\n" * 2
