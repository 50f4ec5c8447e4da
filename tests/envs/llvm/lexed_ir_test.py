import numpy as np
import pytest

from compiler_gym.envs.llvm.derived_observations import LexedToken, lexed_ir_tuple


def test_tuple():
    arrays = {
        "token_id": np.array([5, 400]),
        "token_kind": np.array(["comma", "GlobalVar"], dtype=object),
        "token_category": np.array(["keyword", "strval"], dtype=object),
        "token_value": np.array([",", "@f"], dtype=object),
    }
    tokens = lexed_ir_tuple(arrays)
    assert tokens == [
        LexedToken(ID=5, kind="comma", category="keyword", value=","),
        LexedToken(ID=400, kind="GlobalVar", category="strval", value="@f"),
    ]
    assert type(tokens[0].ID) is int
    assert lexed_ir_tuple({key: value[:0] for key, value in arrays.items()}) == []


def test_observations_agree(env):
    env.reset()
    arrays, tokens = env.observation["LexedIr"], env.observation["LexedIrTuple"]
    assert lexed_ir_tuple(arrays) == tokens
    assert {len(array) for array in arrays.values()} == {len(tokens)}
    assert arrays["token_id"].dtype == np.int64
    assert all(arrays[name].dtype == object for name in arrays if name != "token_id")
    # A kind has one number, one name and one category.
    assert len({token[:3] for token in tokens}) == len({token.ID for token in tokens})
    text = "".join(token.value for token in tokens)
    code = "".join(line.split(";")[0] for line in env.ir.split("\n") if '"' not in line)
    assert code.replace(" ", "")[:40] in text.replace(" ", "")
    assert tokens[0][1:] == ("kw_source_filename", "keyword", "source_filename")


@pytest.mark.parametrize(("name", "default"), [("LexedIr", None), ("LexedIrTuple", [])])
def test_defaults(env, name, default):
    assert env.observation.spaces[name].default_value == default
