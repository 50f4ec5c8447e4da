"""``compiler-gym record``."""

import json

import minari

import compiler_gym
from compiler_gym.distributed.recorded_env import RecordedEnv
from compiler_gym.distributed.rows import fingerprint, read_table, trajectories
from tests.processes import descendants


def test_random_episodes(run, program_c, environment):
    (environment / "other.c").write_text("int twice(int x) { return x + x; }")
    words = ("record", program_c.name, "other.c", "--episodes", "3", "--steps", "4", "--jobs", "2")
    assert "recorded: 6 episodes, 24 steps" in run(*words).stdout
    table = read_table(environment / "recorded").to_pylist()
    assert {(row["program"].rpartition("/")[2], row["seed"]) for row in table} == {
        (name, seed) for name in ("program.c", "other.c") for seed in range(3)
    }
    for row in table:
        assert len(row["actions"]) == len(row["rewards"]) == 4
        assert len(row["sizes"]) == len(row["observation_Autophase"]) == 5
        assert row["sizes"] == [each[51] for each in row["observation_Autophase"]]
        assert row["error"] is None and row["end"] is None
    # The table is an environment, too.
    env = RecordedEnv(environment / "recorded")
    for row in table:
        env.reset(options={"program": row["program"]})
        steps = [env.step(env.action_names.index(name)) for name in row["actions"]]
        assert [reward for _, reward, *_ in steps] == row["rewards"]
        assert [observed.tolist() for observed, *_ in steps] == row["observation_Autophase"][1:]
    # Asked again, nothing is played; asked for more, only that is.
    before = fingerprint(environment / "recorded")
    assert "\n0 played" in run(*words).stdout
    assert fingerprint(environment / "recorded") == before
    report = json.loads(run(*words[:4], "4", *words[5:], "--json").stdout)
    assert (report["done"], report["episodes"]) == (2, 8)


def test_a_part_of_a_dataset(run, environment):
    words = ("record", "kernels-v0", "--count", "2", "--episodes", "1", "--steps", "1")
    run(*words, "--part", "validation")
    programs = sorted(each.program for each in trajectories(environment / "recorded"))
    assert programs == [f"benchmark://kernels-v0/{name}" for name in ("bigint", "checksums")]
    assert "a part of benchmark://kernels-v0" in run(*words, "--part", "tests", code=1).stderr


def test_a_dataset_of_minari(run, program_c, environment, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(environment / "datasets"))
    run("record", program_c.name, "--minari", "no version", code=1)
    assert not (environment / "recorded").exists()
    assert not (environment / "datasets").exists()
    done = run("record", program_c.name, "--episodes", 2, "--steps", 3, "--minari", "llvm/own-v0")
    assert done.stdout.endswith("\nllvm/own-v0: 6 transitions\n")
    dataset = minari.load_dataset("llvm/own-v0")
    names = dataset.storage.metadata["compiler_gym"]["action_names"]
    tables = {(*each.actions,) for each in trajectories(environment / "recorded")}
    assert {(*(names[n] for n in each.actions),) for each in dataset.iterate_episodes()} == tables
    with compiler_gym.make("llvm-v0") as env:
        assert names == env.action_space.names


def test_one_of_several_does_not_compile(run, program_c, environment):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    done = run("record", "wrong.c", program_c.name, "--episodes", 2, "--steps", 1, code=1)
    assert "recorded: 2 episodes, 2 steps" in done.stdout
    assert "wrong.c failed: Command failed" in done.stderr


def test_actions_of_a_file(run, program_c, environment):
    (environment / "actions.txt").write_text("mem2reg sroa\n\ngvn mem2reg\n")
    run("record", program_c.name, "--actions", "actions.txt", "--observation", "IrSha1")
    first, second = sorted(trajectories(environment / "recorded"), key=lambda it: it.actions)
    assert first.actions == ["function(gvn)", "function(mem2reg)"]
    assert second.actions == ["function(mem2reg)", "function(sroa)"]
    assert first.program == f"file://{program_c}"
    assert first.sizes[-1] < first.sizes[0]
    assert len(set(second.observations["IrSha1"])) == 2  # sroa does nothing after mem2reg.
    (environment / "actions.txt").write_text("sroa\nsroa nope\n")
    done = run("record", program_c.name, "--actions", "actions.txt", "-o", "other", code=1)
    assert "actions.txt, line 2: 'nope' is not in the space" in done.stderr
    (environment / "actions.txt").write_text("\n")
    done = run("record", program_c.name, "--actions", "actions.txt", "-o", "other", code=1)
    assert "expected an episode of actions in actions.txt, got none" in done.stderr


def test_a_policy(run, program_c, environment):
    (environment / "own.json").write_text('{"about": {}, "sequences": ["sroa instcombine"]}')
    run("record", program_c.name, "--policy", "own.json", "-o", "out")
    (row,) = trajectories(environment / "out")
    assert row.policy == "own.json"
    assert row.actions[0] == "function(sroa)"
    assert row.sizes[-1] < row.sizes[0]


def test_conversations(run, program_c, environment):
    (environment / "actions.txt").write_text("sroa gvn\nadce\n")
    words = ("--actions", "actions.txt", "--format", "chat", "--best", "1")
    done = run("record", program_c.name, *words)
    assert done.stdout.endswith("recorded/chat.jsonl, .parquet: 1 conversation\n")
    (line,) = (environment / "recorded" / "chat.jsonl").read_text().splitlines()
    found = json.loads(line)
    calls = [each["tool_calls"][0]["function"] for each in found["messages"][2::2]]
    assert calls[0] == {"name": "apply_passes", "arguments": '{"passes": ["sroa"]}'}
    assert calls[-1]["name"] == "submit" and found["reward"] > 0
    assert (environment / "recorded" / "chat.parquet").is_file()


def test_failing_episode(run, program_c, environment):
    done = run("record", program_c.name, "--episodes", "1", "--tries", "1", "--steps", "100000",
               "--timeout", "1", "--jobs", "1", code=1)  # fmt: skip
    assert "1 failed\nWhy: recorded/failures" in done.stdout
    (row,) = read_table(environment / "recorded").to_pylist()
    assert row["error"] == "the task took longer than 1 s"
    text = (environment / f"recorded/failures/{row['episode']}.txt").read_text()
    assert "tries: 1\n" in text and program_c.name in text


def test_ctrl_c_leaves_rows_and_no_process(interrupt, program_c, environment):
    printed = interrupt(
        "record",
        program_c.name,
        "--episodes",
        "1000000",
        when=lambda pid: len(descendants(pid)) > 4 and (environment / "recorded/.lock").exists(),
    )
    assert printed.startswith("recorded: ")
    assert not [*environment.glob("recorded/.episodes*")]
