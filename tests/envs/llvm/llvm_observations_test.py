import numpy as np
import pytest

from compiler_gym.envs.llvm.llvm_observations import (
    autophase_dict,
    inst_count_dict,
    inst_count_norm,
    inst_count_norm_dict,
)
from compiler_gym.envs.llvm.specs import (
    AUTOPHASE_FEATURE_NAMES,
    CPU_INFO_CACHE_LEVELS,
    INST_COUNT_FEATURE_NAMES,
)

DERIVED = ("InstCountDict", "InstCountNorm", "InstCountNormDict", "AutophaseDict")


def counts(**values):
    result = np.zeros(70, dtype=np.int64)
    for name, value in values.items():
        result[INST_COUNT_FEATURE_NAMES.index(name)] = value
    return result


def test_inst_count_dict():
    named = inst_count_dict(counts(TotalInsts=9, Freeze=2))
    assert list(named)[:2] == ["TotalInstsCount", "TotalBlocksCount"]
    assert named["TotalInstsCount"] == 9
    assert named["FreezeCount"] == 2
    assert sum(named.values()) == 11


def test_inst_count_norm():
    densities = inst_count_norm(counts(TotalInsts=8, TotalBlocks=2, Freeze=4))
    assert densities.shape == (69,)
    assert densities.dtype == np.float32
    assert densities[0] == 0.25
    assert densities[68] == 0.5
    assert densities.sum() == 0.75


def test_inst_count_norm_of_few_instructions():
    assert not inst_count_norm(counts()).any()
    assert inst_count_norm(counts(TotalInsts=1, TotalFuncs=5)).max() == 1


def test_inst_count_norm_dict():
    named = inst_count_norm_dict(inst_count_norm(counts(TotalInsts=8, Ret=2)))
    assert len(named) == 69
    assert named["RetDensity"] == 0.25
    assert "TotalInstsDensity" not in named


def test_autophase_dict():
    named = autophase_dict(np.arange(56))
    assert list(named) == list(AUTOPHASE_FEATURE_NAMES)
    assert named["testUnary"] == 55


def test_all_observations_are_in_their_spaces(env):
    """Also when nothing has been optimised and when much has."""
    env.reset()
    for actions in ([], ["sroa", "instcombine", "simplifycfg", "inline", "gvn"]):
        env.multistep([env.action_space[name] for name in actions])
        for name, spec in env.observation.spaces.items():
            if name.startswith("Ir2vec"):  # It needs a file; see last_action_test.py.
                continue
            value = env.observation[name]
            assert spec.space.contains(value), name
            if name == "BitcodeFile":
                continue
            if spec.deterministic:
                np.testing.assert_equal(env.observation[name], value)


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


def test_native_observations_come_in_their_documented_order(env):
    native = [spec.id for spec in env.observation.spaces.values() if spec.id not in DERIVED]
    documented = [
        *("Ir", "IrSha1", "Bitcode", "BitcodeFile", "InstCount", "Autophase", "CpuInfo"),
        *(f"IrInstructionCount{level}" for level in ("", "O0", "O3", "Oz")),
        *("ObjectTextSizeBytes", "ObjectTextSizeO0", "ObjectTextSizeO3", "ObjectTextSizeOz"),
        *("TextSizeBytes", "TextSizeO0", "TextSizeO3", "TextSizeOz"),
        *("IsBuildable", "IsRunnable", "Runtime", "Buildtime"),
    ]
    assert [name for name in native if name in documented] == documented


def test_vectors_agree_with_each_other(env):
    env.reset()
    inst_count = env.observation["InstCountDict"]
    autophase = env.observation["AutophaseDict"]
    assert inst_count["TotalInstsCount"] == autophase["TotalInsts"]
    assert inst_count["TotalInstsCount"] == env.observation["IrInstructionCount"]
    assert inst_count["TotalBlocksCount"] == autophase["TotalBlocks"]
    for opcode in ("Alloca", "Load", "Store", "Call", "PHI"):
        assert inst_count[f"{opcode}Count"] == autophase[f"Num{opcode}Inst"]


def test_cpu_info(env):
    env.reset()
    info = env.observation["CpuInfo"]
    caches = [
        f"{level}_cache_{kind}" for level in CPU_INFO_CACHE_LEVELS for kind in ("size", "count")
    ]
    assert set(info) == {"name", "cores_count", *caches}
    assert info["cores_count"] >= 1
    assert env.observation.spaces["CpuInfo"].platform_dependent
