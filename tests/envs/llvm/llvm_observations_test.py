import os
import signal
from urllib.parse import quote

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.derived_observations import LexedToken, lexed_ir_tuple
from compiler_gym.service.proto import GetSpacesRequest


def test_defaults_are_in_their_spaces(env):
    without_default = set()
    for name, spec in env.observation.spaces.items():
        if spec.default_value is None:
            without_default.add(name)
        else:
            assert spec.space.contains(spec.default_value), name
    documented = {"Ir", "IrSha1", "Bitcode", "BitcodeFile", "CpuInfo", "Runtime", "Buildtime"}
    # How long a vector is depends on the vocabulary.
    ir2vec = {name for name in env.observation.spaces if name.startswith("Ir2vec")}
    assert without_default == {*documented, "LexedIr", *ir2vec}


def test_documented_observations_have_their_indices(env):
    documented = [
        *("Ir", "IrSha1", "Bitcode", "BitcodeFile", "InstCount", "Autophase"),
        *("Programl", "ProgramlJson", "CpuInfo"),
        *(f"IrInstructionCount{level}" for level in ("", "O0", "O3", "Oz")),
        *("ObjectTextSizeBytes", "ObjectTextSizeO0", "ObjectTextSizeO3", "ObjectTextSizeOz"),
        *("TextSizeBytes", "TextSizeO0", "TextSizeO3", "TextSizeOz"),
        *("IsBuildable", "IsRunnable", "Runtime", "Buildtime", "LexedIr"),
    ]
    assert len(documented) == 26
    service = env.service
    offered = service(service.stub.GetSpaces, GetSpacesRequest()).observation_space_list
    assert [space.name for space in offered][:26] == documented
    assert list(env.observation.spaces)[:26] == documented
    # These two are derived from what is faster to send.
    derived = {"Programl", "ProgramlJson"}
    for index, name in enumerate(documented):
        assert env.observation.spaces[name].index == index or name in derived


def test_vectors_agree_with_each_other(env):
    env.reset()
    inst_count = env.observation["InstCountDict"]
    autophase = env.observation["AutophaseDict"]
    assert inst_count["TotalInstsCount"] == autophase["TotalInsts"]
    assert inst_count["TotalInstsCount"] == env.observation["IrInstructionCount"]
    assert inst_count["TotalBlocksCount"] == autophase["TotalBlocks"]
    densities = env.observation["InstCountNormDict"]
    vector = env.observation["InstCountNorm"]
    assert (vector.shape, vector.dtype) == ((69,), np.float32)
    np.testing.assert_array_equal([*densities.values()], vector)
    assert "TotalInstsDensity" not in densities
    for opcode in ("Alloca", "Load", "Store", "Call", "PHI"):
        assert inst_count[f"{opcode}Count"] == autophase[f"Num{opcode}Inst"]
        share = inst_count[f"{opcode}Count"] / inst_count["TotalInstsCount"]
        assert densities[f"{opcode}Density"] == pytest.approx(share)


def test_a_step_that_fails_returns_the_defaults():
    with LlvmEnv() as env:
        env.reset()
        names = ["Programl", "ProgramlJson", "LexedIr", "LexedIrTuple", "Autophase"]
        names += ["Inst2vecPreprocessedText", "Inst2vecEmbeddingIndices", "Inst2vec"]
        unknown = env.inst2vec.vocabulary.unknown
        os.kill(env.service.service.pid, signal.SIGKILL)
        values, _, done, info = env.step(0, observation_spaces=names)
        assert done
        assert info["error_type"]
        graph, document, lexed, tokens, autophase, statements, indices, embeddings = values
        assert (len(graph), len(document["nodes"]), lexed, tokens, statements) == (
            0,
            0,
            None,
            [],
            [],
        )
        assert not autophase.any()
        assert indices.tolist() == [unknown]
        np.testing.assert_array_equal(embeddings, env.inst2vec.embed([unknown]))


def test_names_that_are_not_utf8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9#1.ll")
    path.write_text(
        '@"\\FE" = global i8 0\ndefine void @"a\\FF"() {\n  call void @"a\\FF"()\n  ret void\n}\n'
    )
    with LlvmEnv(benchmark=f"file://{quote(os.fsencode(path))}") as env:
        env.reset()
        for name in sorted(env.observation.spaces):
            # The first needs LLVM 22, the others a build command.
            if not name.startswith(("Ir2vec", "Runtime", "Buildtime", "TextSize")):
                assert env.observation[name] is not None
        assert env.observation["FunctionProperties"]["Function"].tolist() == ["a\\FF"]


def test_observations_of_tokens_agree(env):
    env.reset()
    arrays, tokens = env.observation["LexedIr"], env.observation["LexedIrTuple"]
    assert lexed_ir_tuple(arrays) == tokens
    assert type(tokens[0]) is LexedToken and type(tokens[0].ID) is int
    assert lexed_ir_tuple({key: value[:0] for key, value in arrays.items()}) == []
    assert {len(array) for array in arrays.values()} == {len(tokens)}
    assert arrays["token_id"].dtype == np.int64
    assert all(arrays[name].dtype == object for name in arrays if name != "token_id")
    # A kind has one number, one name and one category.
    assert len({token[:3] for token in tokens}) == len({token.ID for token in tokens})
    text = "".join(token.value for token in tokens)
    code = "".join(line.split(";")[0] for line in env.ir.split("\n") if '"' not in line)
    assert code.replace(" ", "")[:40] in text.replace(" ", "")
    assert tokens[0][1:] == ("kw_source_filename", "keyword", "source_filename")


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


def test_observations_of_the_last_action_are_marked(env):
    spaces = env.service.observation_spaces
    assert {space.name for space in spaces if space.of_last_action} == {"PassStats", "Remarks"}
