import numpy as np
import pytest

from compiler_gym.envs.llvm import compute_observation

# Those that are different each time.
CHANGING = {"BitcodeFile", "Runtime", "Buildtime"}
NEEDS_MORE = {"Ir2vec", "Ir2vecFunctions", "Ir2vecBlocks", "Ir2vecInstructions"}
NEEDS_MORE |= {"TextSizeBytes", "TextSizeO0", "TextSizeO3", "TextSizeOz"}


@pytest.fixture
def bitcode(env, small, tmp_path):
    env.reset(benchmark=small)
    return env.write_bitcode(tmp_path / "program.bc")


def same(first, second):
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return first == second


def test_values_equal_those_of_an_environment(env, bitcode):
    for name, spec in env.observation.spaces.items():
        if name not in CHANGING | NEEDS_MORE and "Programl" not in name and "vec" not in name:
            value = compute_observation(spec, bitcode)
            assert same(value, env.observation[name]), name


def test_other_target(env, bitcode):
    here = compute_observation("ObjectTextSizeBytes", bitcode)
    there = compute_observation("ObjectTextSizeBytes", bitcode, target_triple="riscv64-linux-gnu")
    assert here > 0
    assert there > 0
    assert here != there


def test_unknown_names(bitcode):
    with pytest.raises(ValueError, match='Unknown observation space "NoSuch"'):
        compute_observation("NoSuch", bitcode)
    with pytest.raises(ValueError, match="nosuch"):
        compute_observation("InstCount", bitcode, target_triple="nosuch")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        compute_observation("InstCount", tmp_path / "none.bc")


@pytest.mark.parametrize("contents", [b"", b"not a program", b"BC\xc0\xde broken"])
def test_file_is_not_a_program(tmp_path, contents):
    path = tmp_path / "bad.bc"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match="Cannot parse the program"):
        compute_observation("InstCount", path)


def test_time_limit(bitcode):
    with pytest.raises(TimeoutError, match=r"0\.001 seconds"):
        compute_observation("InstCount", bitcode, timeout=0.001)
