"""PassStats and Remarks by way of the service, which keeps values."""


def test_stats_agree_with_the_step(env):
    env.reset()
    for name in ("mem2reg", "mem2reg", "simplifycfg", "constmerge", "globaldce", "globaldce"):
        before = env.observation["IrInstructionCount"]
        _, _, _, info = env.step(env.action_space[name])
        stats = env.observation["PassStats"]
        assert stats["changed"] == (not info["action_had_no_effect"])
        assert stats["instructions_before"] == before
        assert stats["instructions_after"] == env.observation["IrInstructionCount"]


def test_remarks_of_each_action(env):
    env.reset()
    env.step(env.action_space["mem2reg"])
    env.step(env.action_space["inline"])
    remarks = env.observation["Remarks"]
    assert len(set(map(len, remarks.values()))) == 1
    assert "inline" in remarks["pass"]
    env.step(env.action_space["constmerge"])
    assert "inline" not in env.observation["Remarks"]["pass"]


def test_remarks_of_a_fork(env):
    env.reset()
    env.step(env.action_space["inline"])
    expected = env.observation["Remarks"]["message"].tolist()
    with env.fork() as fork:
        assert fork.observation["Remarks"]["message"].tolist() == expected
        fork.step(fork.action_space["mem2reg"])
        assert env.observation["Remarks"]["message"].tolist() == expected


def test_asking_for_remarks_changes_nothing(env):
    names = ["mem2reg", "inline", "simplifycfg", "licm", "gvn", "loop-vectorize", "instcombine"]
    hashes = []
    for asks in (False, True):
        env.reset()
        for name in names:
            env.step(env.action_space[name])
            if asks:
                _ = env.observation["Remarks"]
        hashes.append(env.ir_sha1)
    assert hashes[0] == hashes[1]


def test_values_are_in_their_spaces(env):
    env.reset()
    env.step(env.action_space["inline"])
    for name in ("PassStats", "Remarks", "CallGraph", "FunctionProperties", "CyclesEstimate"):
        spec = env.observation.spaces[name]
        assert spec.space.contains(env.observation[name]), name
        assert spec.space.contains(spec.default_value), name
        assert spec.deterministic
        assert not spec.platform_dependent


def test_observations_of_the_last_action_are_marked(env):
    spaces = env.service.observation_spaces
    assert {space.name for space in spaces if space.of_last_action} == {"PassStats", "Remarks"}
