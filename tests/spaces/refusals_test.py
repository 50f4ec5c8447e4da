"""Arguments that spaces refuse."""

import numpy as np
import pytest

from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Commandline,
    CommandlineFlag,
    Discrete,
    NamedDiscrete,
    Permutation,
    Reward,
    Scalar,
    Sequence,
    UnknownNameError,
)

FLAGS = Commandline([CommandlineFlag("a", "-a"), CommandlineFlag("level", "-mllvm -level=2")], "x")

REFUSED = [
    (NotImplementedError, lambda: ActionSpace(Box(0, 1, "b", shape=(2,))).from_string("1")),
    (ValueError, lambda: ActionSpace(Discrete(5)).from_string("1,5")),
    (ValueError, lambda: ActionSpace(Discrete(5)).from_string("x")),
    (ValueError, lambda: ActionSpace(Scalar("s", dtype=bool)).from_string("1")),
    (ValueError, lambda: ActionSpace(Scalar()).from_string("nan")),
    (ValueError, lambda: FLAGS.with_macros({"a": ["level"]})),
    (ValueError, lambda: FLAGS.with_macros({"x": []})),
    (ValueError, lambda: FLAGS.with_macros({"x": "aa"})),
    (UnknownNameError, lambda: FLAGS.with_macros({"x": ["c"]})),
    (IndexError, lambda: FLAGS.with_macros({"x": [2]})),
    (IndexError, lambda: FLAGS.with_macros({"x": [-1]})),
    (ValueError, lambda: FLAGS.from_string("-a -c")),
    (ValueError, lambda: FLAGS.from_string("-mllvm -level=3")),
    (ValueError, lambda: FLAGS.from_string("-mllvm")),
    (ValueError, lambda: NamedDiscrete([], "x")),
    (ValueError, lambda: Commandline([], "x")),
    ((TypeError, ValueError), lambda: Permutation("x", Scalar("r", 0, 1, float))),
    ((TypeError, ValueError), lambda: Permutation("x", Scalar("r", 0, 1, bool))),
    ((TypeError, ValueError), lambda: Permutation("x", Scalar("r", 0, None, np.int64))),
    (NotImplementedError, lambda: Reward("r").update([0], [], {})),
    *((ValueError, lambda bounds=bounds: Scalar("x", *bounds)) for bounds in [(1, 0), (np.nan, 0)]),
    (ValueError, lambda: Scalar("x", 0.0, np.nan)),
    *((TypeError, lambda kind=kind: Scalar("x", dtype=kind)) for kind in (str, bytes, complex)),
    (TypeError, lambda: Scalar("x", dtype=object)),
    (TypeError, lambda: Sequence("s", dtype=str, scalar_range=Scalar("x"))),
    (NotImplementedError, Sequence("s", dtype=tuple).sample),
    (NotImplementedError, Sequence("s", dtype=str, opaque_data_format="json://").sample),
]


@pytest.mark.parametrize(("error", "ask"), REFUSED)
def test_refused(error, ask):
    with pytest.raises(error):
        ask()
