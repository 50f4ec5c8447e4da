import numpy as np
import pytest

from benchmarks import observation_report
from benchmarks.observation_report import ORIGINAL, StepCost, comparison, describe_space
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.derived_observations import LexedToken
from compiler_gym.spaces import Box, Dict, Scalar, Sequence, SpaceSequence
from compiler_gym.util import llvm_tools


@pytest.mark.parametrize(
    ("space", "description"),
    [
        (Box(0, 1, shape=(3,), dtype=np.float32), "float32 [3], [0, 1]"),
        (Box(0, np.iinfo(np.int64).max, shape=(3,), dtype=np.int64), "int64 [3], [0, ∞)"),
        (Box(-np.inf, np.inf, shape=(2,)), "float32 [2], (-∞, ∞)"),
        (Scalar(min=0, dtype=np.int64), "int64, [0, ∞)"),
        (Scalar(dtype=np.bool_), "bool"),
        (Sequence(dtype=str), "str"),
        (Sequence(dtype=str, size_range=(40, 40)), "str of length 40"),
        (Sequence(dtype=str, size_range=(0, 9)), "str of length at most 9"),
        (Sequence(dtype=np.float64, scalar_range=Scalar(min=0)), "float64 [n], [0, ∞)"),
        (Sequence(dtype=LexedToken), "list of LexedToken"),
        (Sequence(dtype=Sequence(dtype=str)), "sequence of (str)"),
        (SpaceSequence("x", Sequence(dtype=str)), "list of (str)"),
        (Sequence(opaque_data_format="json://"), "dict"),
        (Dict({"a": Scalar(dtype=np.bool_), "b": Scalar(dtype=np.bool_)}), "dict of 2: bool"),
    ],
)
def test_describe_space(space, description):
    assert describe_space(space) == description


def test_comparison():
    costs = {"Autophase": [StepCost(1, 1)] * 2, "Ir": [StepCost(27.4, 6.85), StepCost(0.68, 0.17)]}
    assert comparison(costs, [20_000, 200], [19_682, 213]).splitlines()[2:] == [
        "| Ir | 22,393; 19,682 | 13.7 | 6.8 | 2 | 27 | 0.5 |",
        "| Ir | 226; 213 | 0.34 | 0.17 | 2 | 0.68 | 0.5 |",
    ]


def test_every_observation_is_measured(report, tmp_path, service_binary):
    path = tmp_path / "table.md"
    printed = report(observation_report.main, "--quick", "--size", "200", "--output", path)
    assert printed.endswith(path.read_text())
    tables = path.read_text().split("\n\n")[1:]
    rows, compared = (
        [line.strip("| \n").split(" | ") for line in table.splitlines()[2:]] for table in tables
    )
    with LlvmEnv(service=service_binary) as env:
        names = [*env.observation.spaces, "Autophase + reward"]
    assert [row[0] for row in rows] == names
    # The program has no main function.
    missing = ["TextSizeBytes", "TextSizeO0", "TextSizeO3", "TextSizeOz"]
    # LLVM's own tool for the analysis comes with it.
    if not llvm_tools.opt_path().with_name("llvm-ir2vec").exists():
        missing += ["Ir2vec", "Ir2vecFunctions", "Ir2vecBlocks", "Ir2vecInstructions"]
    assert [row[0] for row in rows if row[2] == "-"] == missing
    numbers = [number for row in rows if row[2] != "-" for number in row[2].split()]
    assert all(float(number.strip("()").replace(",", "")) > 0 for number in numbers)
    assert {row[0] for row in compared} == set(ORIGINAL)
