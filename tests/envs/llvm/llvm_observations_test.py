import os
import signal
from urllib.parse import quote

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.derived_observations import (
    autophase_dict,
    inst_count_norm,
    inst_count_norm_dict,
)
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES, INST_COUNT_FEATURE_NAMES
from compiler_gym.service.proto import GetSpacesRequest

DERIVED = ("InstCountDict", "InstCountNorm", "InstCountNormDict", "AutophaseDict")


def counts(**values):
    result = np.zeros(70, dtype=np.int64)
    for name, value in values.items():
        result[INST_COUNT_FEATURE_NAMES.index(name)] = value
    return result


def test_inst_count_norm():
    densities = inst_count_norm(counts(TotalInsts=8, TotalBlocks=2, Freeze=4))
    assert densities.shape == (69,)
    assert densities.dtype == np.float32
    assert densities[0] == 0.25
    assert densities[68] == 0.5
    assert densities.sum() == 0.75


def test_inst_count_norm_dict():
    named = inst_count_norm_dict(inst_count_norm(counts(TotalInsts=8, Ret=2)))
    assert len(named) == 69
    assert named["RetDensity"] == 0.25
    assert "TotalInstsDensity" not in named


def test_autophase_dict():
    named = autophase_dict(np.arange(56))
    assert list(named) == list(AUTOPHASE_FEATURE_NAMES)
    assert named["testUnary"] == 55


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


@pytest.mark.parametrize("name", DERIVED)
def test_derived_observations_are_as_their_base(env, name):
    spec = env.observation.spaces[name]
    assert spec.deterministic
    assert not spec.platform_dependent
    assert (
        spec.index == env.observation.spaces[name.removesuffix("Dict").removesuffix("Norm")].index
    )


@pytest.mark.parametrize("name", DERIVED)
def test_default_values(env, name):
    spec = env.observation.spaces[name]
    assert spec.space.contains(spec.default_value)
    values = spec.default_value.values() if "Dict" in name else spec.default_value
    assert not any(values)


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
    for opcode in ("Alloca", "Load", "Store", "Call", "PHI"):
        assert inst_count[f"{opcode}Count"] == autophase[f"Num{opcode}Inst"]


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
