import pytest

from compiler_gym.envs.mlir.mlir_env import MlirCommandline
from compiler_gym.errors import UnknownNameError
from compiler_gym.spaces import CommandlineFlag

SPACE = MlirCommandline(
    [
        CommandlineFlag("tile<0,8>", "transform-interpreter{entry-point=tile_0_8}"),
        CommandlineFlag("cse", "cse"),
        CommandlineFlag("affine-tile<4>", "func.func(affine-loop-tile{tile-size=4})"),
    ],
    library="/path/library.mlir",
)
PIPELINE = (
    "builtin.module(transform-preload-library{transform-library-paths=/path/library.mlir},"
    "func.func(affine-loop-tile{tile-size=4}),transform-interpreter{entry-point=tile_0_8},cse)"
)


def test_to_string():
    assert SPACE.to_string([2, 0, 1]) == f"mlir-opt-22 '-pass-pipeline={PIPELINE}' kernel.mlir"
    assert "preload" not in SPACE.to_string([1, 2])


@pytest.mark.parametrize("values", [[], [0], [1, 1], [2, 0, 1]])
def test_from_string_undoes_to_string(values):
    assert SPACE.from_string(SPACE.to_string(values)) == values


@pytest.mark.parametrize(
    "text",
    [
        PIPELINE,
        f"/usr/bin/mlir-opt --pass-pipeline='{PIPELINE}' other.mlir",
        "'affine-tile<4>' 'tile<0,8>' cse",
        "affine-tile<4>,tile<0,8>,cse".replace("affine", "'affine").replace(",cse", ",cse'"),
    ],
)
def test_other_spellings(text):
    assert SPACE.from_string(text) == [2, 0, 1]


def test_names():
    with pytest.raises(UnknownNameError, match="cse"):
        SPACE.from_string("builtin.module(csee)")
    assert SPACE["tile<0,8>"] == 0
    assert SPACE["func.func(affine-loop-tile{tile-size=4})"] == 2


@pytest.mark.parametrize("text", ["builtin.module(func.func(cse", "cse)"])
def test_brackets(text):
    with pytest.raises(ValueError, match="Brackets"):
        SPACE.from_string(f"'{text}'")
