"""PassStats, Remarks and the IR2Vec setting by way of the service, which keeps values."""

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv

VOCABULARY = '{"Opcodes": {"Add": [1, 2]}, "Types": {"VoidTy": [3, 4]}, "Arguments": {}}'


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.json"
    path.write_text(VOCABULARY)
    return path


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


def test_ir2vec_of_an_environment(shared_env, vocabulary):
    service = shared_env.service
    with LlvmEnv(service_connection=service, ir2vec_vocabulary=vocabulary) as env:
        env.reset()
        program = env.observation["Ir2vec"]
        assert program.shape == (2,)
        functions = env.observation["Ir2vecFunctions"]
        assert env.observation.spaces["Ir2vecFunctions"].space.contains(functions)
        assert len(functions) == len(env.observation["FunctionProperties"]["Function"])
        assert np.allclose(np.sum(functions, axis=0), program)
        assert (
            len(env.observation["Ir2vecBlocks"])
            == env.observation["InstCountDict"]["TotalBlocksCount"]
        )
        instructions = env.observation["Ir2vecInstructions"]
        assert len(instructions) == env.observation["IrInstructionCount"]
        with env.fork() as fork:
            assert np.array_equal(fork.observation["Ir2vec"], program)


def test_ir2vec_vocabulary_can_be_changed(env, vocabulary):
    env.reset()
    with pytest.raises(TypeError, match="Ir2vec needs a vocabulary"):
        _ = env.observation["Ir2vec"]
    env.send_param("llvm.set_ir2vec_vocabulary", str(vocabulary))
    first = env.observation["Ir2vec"]
    vocabulary.write_text(VOCABULARY.replace("1, 2", "1, 2, 9").replace("3, 4", "3, 4, 5"))
    env.send_param("llvm.set_ir2vec_vocabulary", str(vocabulary))
    second = env.observation["Ir2vec"]
    assert np.allclose(second[:2], first)
    assert len(second) == 3
    assert env.send_param("llvm.get_ir2vec_vocabulary", "") == str(vocabulary)


def test_bad_vocabularies(env, vocabulary):
    env.reset()
    with pytest.raises(FileNotFoundError, match="nosuch"):
        env.send_param("llvm.set_ir2vec_vocabulary", "/nosuch/file.json")
    vocabulary.write_text("{}")
    with pytest.raises(ValueError, match="IR2Vec vocabulary"):
        env.send_param("llvm.set_ir2vec_vocabulary", str(vocabulary))
    assert env.in_episode
