"""The pool on a Ray cluster of three nodes, of which some die."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import ray
from ray._private.worker import print_to_stdstream
from ray.cluster_utils import Cluster

import compiler_gym
from compiler_gym.cli.app import program_command
from compiler_gym.cli.pool_options import command_pool
from compiler_gym.distributed import Episode, Job, Limits, PoolError, open_pool
from compiler_gym.distributed.episode import record
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.ray_backend import RayBackend
from compiler_gym.distributed.rows import fingerprint, read_table, schema_of
from compiler_gym.leaderboard.llvm_instcount import evaluate_on_pool, read_results
from compiler_gym.tuning.policy_training.laboratory import Laboratory
from compiler_gym.util.llvm_engines import VERSION_VARIABLE
from tests.distributed.tasks import AskedVersion, Deadly, Failing, Square, WhoAmI
from tests.effort import IS_LONG, effort

_EPISODES = effort(60, 2000)
_STORE_BYTES = 80 << 20
_LIMITS = Limits(start_seconds=300)
_KERNEL = "benchmark://kernels-v0/checksums"

# Quick runs try two of the commands, of which one returns programs and one returns verdicts.
_another_command = pytest.mark.skipif(not IS_LONG, reason="the long form tries each command")


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # By default workers have a niceness of 15: on a busy machine they hardly ever run.
        monkeypatch.setenv("RAY_worker_niceness", "0")
        cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": _STORE_BYTES},
        )
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.nodes = [_add_node(cluster), _add_node(cluster)]
        yield cluster
        ray.shutdown()
        cluster.shutdown()


def _add_node(cluster):
    return cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)


def test_each_task_has_one_outcome(cluster):
    tasks = [*map(Square, range(500)), Failing(1, is_final=True), Deadly(7)]
    with open_pool("auto", Limits(tries=2)) as pool:
        found = {each.task: each for each in pool.run(map(Job, tasks))}
    assert [found[Square(number)].value for number in range(500)] == [n**2 for n in range(500)]
    assert found[Failing(1, True)].error == "ValueError: number 1"
    assert found[Deadly(7)].error.startswith("Actor")
    assert found[Deadly(7)].tries == 2


@pytest.mark.parametrize("version", [None, 23])
def test_nodes_use_the_llvm_of_the_command(cluster, monkeypatch, version):
    if version is not None:
        monkeypatch.setenv(VERSION_VARIABLE, str(version))
    with open_pool("auto") as pool:
        (outcome,) = pool.run([Job(AskedVersion(0))])
    assert outcome.value == version


def test_the_log_of_a_task_is_found_by_its_name(cluster):
    deadly = Deadly(8)
    with open_pool("auto", Limits(tries=1)) as pool:
        (outcome,) = pool.run([Job(deadly)])
    assert outcome.error
    logs = Path(cluster.head_node.get_session_dir_path()) / "logs"
    begins = f"task {deadly.name} begins"
    assert any(begins in log.read_text() for log in logs.glob("compiler_gym-*.log"))
    # Ray sends those to the head.
    assert not any(begins in log.read_text() for log in logs.glob("worker-*"))


@pytest.fixture(name="jobs")
def fixture_jobs(tmp_path):
    path = tmp_path / "program.c"
    path.write_text("int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }")
    with compiler_gym.make("llvm-v0") as env:
        program = Program.of(env.datasets.benchmark(f"file://{path}"))
        path.unlink()  # Nodes have no such file.
        schema = schema_of({"Autophase": env.observation.spaces["Autophase"].space})
    return schema, [
        Episode.job(
            program,
            seed=seed,
            steps=20,
            observations=("Autophase",),
            reward="IrInstructionCountOz",
        )
        for seed in range(_EPISODES)
    ]


def test_rows_are_those_of_one_process_while_nodes_die(cluster, jobs, tmp_path):
    schema, episodes = jobs
    with open_pool("auto", _LIMITS) as pool:
        pids = {each.value for each in pool.run(Job(WhoAmI(number)) for number in range(50))}
        ended = 0

        def watch(outcome):
            nonlocal ended
            ended += 1
            if ended == _EPISODES // 6:
                os.kill(pids.pop(), signal.SIGKILL)
            if ended == _EPISODES // 3:
                cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
                cluster.nodes.append(_add_node(cluster))

        record(pool, episodes, tmp_path / "ray", schema, watch)
        stats = pool.stats
        print(f"asked {_EPISODES}, {stats}")
        assert (ended, stats.failed) == (_EPISODES, 0)
        assert stats.restarts >= 1
    with open_pool(limits=Limits(workers=1)) as pool:
        record(pool, episodes, tmp_path / "one", schema)
        assert pool.stats.done == _EPISODES
    assert read_table(tmp_path / "ray").num_rows == _EPISODES
    assert fingerprint(tmp_path / "ray") == fingerprint(tmp_path / "one")


def test_leaderboard_on_nodes(cluster, tmp_path):
    def policy(env):
        env.step(env.action_space["sroa"])

    results = tmp_path / "results.csv"
    with (
        compiler_gym.make("llvm-ic-v0", benchmark=_KERNEL) as env,
        open_pool("auto", _LIMITS) as pool,
    ):
        states = [*evaluate_on_pool(policy, pool, env.datasets, [_KERNEL], 2, results)]
        env.reset()
        policy(env)
        assert states == [env.state] * 2 == read_results(results)


def test_policies_are_trained_on_nodes(cluster):
    with compiler_gym.make("llvm-v0", benchmark=_KERNEL) as env, open_pool("auto", _LIMITS) as pool:
        program = Program.of(env.datasets.benchmark(_KERNEL))
        laboratory = Laboratory(pool, [program], largest=100_000)
        (found,) = laboratory.logarithms(("sroa",))
        (sequence,) = laboratory.tuned(tries=2, most_passes=10, seed=0)
        assert set(sequence) < set(env.action_space.names)
        env.reset()
        oz = env.observation["IrInstructionCountOz"]
        env.step(env.action_space["sroa"])
        assert found == np.log(env.observation["IrInstructionCount"] / oz)


def test_a_cluster_without_room_is_an_error(cluster, monkeypatch):
    with open_pool("auto", Limits(start_seconds=0.5)) as pool:
        monkeypatch.setattr(pool._backend, "capacity", lambda: 0)
        with pytest.raises(PoolError, match="room for 0"):
            next(pool.run([Job(Square(1))]))


def test_another_cluster_than_the_connected_one_is_an_error(cluster):
    host, _, port = cluster.address.rpartition(":")
    for address in (cluster.address, "auto", "local"):
        RayBackend(address).close()
    assert ray.is_initialized()
    for address in (f"{host}:1", f"192.0.2.1:{port}", "ray://192.0.2.1:10001", "[2001:db8::1]:1"):
        expected = f"cluster at '{address}', but this process has one to '{cluster.address}'; try"
        with pytest.raises(PoolError, match=re.escape(expected)):
            RayBackend(address)


def test_messages_of_ray_go_to_stderr(cluster, capsys):
    message = {"lines": ["a node died"], "pid": "raylet", "is_err": False}
    with command_pool("auto", _LIMITS):
        print_to_stdstream(message, ignore_prefix=False)
    out, err = capsys.readouterr()
    assert "a node died" not in out
    assert "a node died" in err


@pytest.fixture(name="command")
def fixture_command(cluster, tmp_path, monkeypatch, capsys):
    """Runs a command of compiler-gym in this process, which is connected to the cluster."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.c").write_text(
        "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n; return s; }"
    )
    main = program_command().main

    def command(*words):
        capsys.readouterr()
        main([*words], standalone_mode=False)
        lines = capsys.readouterr().out.splitlines()
        # Ray itself prints about nodes that were killed.
        begin = next(number for number, line in enumerate(lines) if line in ("{", "["))
        return json.loads("\n".join(lines[begin:]))

    return command


def test_search_on_nodes(command, tmp_path):
    (game,) = command("search", "program.c", "--seconds", "2", "--ray", "auto", "--json")
    assert (game["state"], game["opt"]) == ("done", "identical")
    assert game["costs"]["instructions"]["best"] < game["costs"]["instructions"]["O0"]
    assert sorted(os.listdir(tmp_path / "optimised")) == ["program.c.bc", "program.c.input.bc"]


@_another_command
def test_record_and_eval_on_nodes(command, tmp_path):
    words = ("program.c", "--episodes", "3", "--steps", "2", "--ray", "auto", "--json")
    report = command("record", *words)
    assert (report["done"], report["failed"], report["steps"]) == (3, 0, 6)
    assert read_table(tmp_path / "recorded").num_rows == 3
    report = command("eval", "program.c", "--policy", "sequence", "--ray", "auto", "--json")
    (row,) = report["programs"]
    assert row["policy"] < row["O0"]


def test_hunt_on_nodes(command, tmp_path):
    words = ("program.c", "--passes", "sroa,dce", "--trials", "3", "--ray", "auto", "--json")
    report = command("hunt", *words)
    assert report["trials"] == sum(report["verdicts"].values()) == 3
    assert report["verdicts"] == {"fine": 3}
    assert report["findings"] == []


@_another_command
def test_optimize_a_project_on_nodes(command, tmp_path):
    entry = {"directory": str(tmp_path), "file": "program.c", "command": "cc -c program.c"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    words = ("compile_commands.json", "--evaluations", "3", "--ray", "auto", "--json")
    (made,) = command("optimize", *words)
    assert made["command_repeats"]
    assert (tmp_path / "optimized" / "program.o").is_file()
