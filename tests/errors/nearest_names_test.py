from itertools import count

import pytest

from compiler_gym.errors.nearest_names import (
    UnknownNameError,
    did_you_mean,
    nearest_names,
    quoted,
    unknown_name,
)


def test_nearest_names():
    assert nearest_names("Autophse", ["InstCount", "AutophaseDict", "Autophase"]) == [
        "Autophase",
        "AutophaseDict",
    ]
    assert nearest_names("cBENCH-V1", ["cbench-v1", "blas-v0"]) == ["cbench-v1"]
    assert nearest_names("zzz", ["Autophase"]) == []
    assert did_you_mean("zzz", ["Autophase"]) == ""
    assert did_you_mean("Irr", ["Ir", "Bitcode"]) == " Did you mean Ir?"
    assert nearest_names("name-17", (f"name-{i}" for i in count()), count=1) == ["name-17"]


def test_nearest_names_of_long_names():
    uris = [f"benchmark://some-dataset-v0/{name}" for name in ("sha256", "json", "aes")]
    assert nearest_names("benchmark://some-dataset-v0/sha25", uris) == [uris[0]]
    names = ["IrInstructionCountOz", "ObjectTextSizeOz", "ObjectTextSizeO3"]
    assert nearest_names("object", names) == names[1:]
    assert nearest_names("", names) == []
    uris = ["benchmark://npb-v0", "benchmark://blas-v0", "generator://csmith-v0"]
    assert nearest_names("benchmark://npb", uris) == ["benchmark://npb-v0"]
    assert nearest_names("generator://csmit-v0", uris) == ["generator://csmith-v0"]


@pytest.mark.parametrize("kind", [UnknownNameError, LookupError, KeyError, ValueError])
def test_unknown_name(kind):
    with pytest.raises(kind) as caught:
        raise unknown_name("reward", "Sise", ["Size", "Time"])
    assert (
        str(caught.value) == "There is no reward 'Sise'. Did you mean Size? There are: Size, Time"
    )


def test_many_names_are_listed_only_if_none_is_similar():
    names = [f"name-{i}" for i in range(20)]
    assert str(unknown_name("thing", "name-3", names)).endswith(
        "'name-3'. Did you mean name-3 or name-13 or name-9?"
    )
    assert str(unknown_name("thing", "zzz", names)).endswith(", name-19")
    assert str(unknown_name("thing", "zzz", [])) == "There is no thing 'zzz'. There are: none"
    many = str(unknown_name("thing", "zzz", (f"a{number}" for number in range(3200))))
    assert many.startswith("There is no thing 'zzz'. There are: a0, a1, ") and len(many) < 1000
    assert many.endswith(", a149, ...")


def test_a_long_name_is_shortened():
    """It may be the contents of a file."""
    text = str(unknown_name("reward", "x" * 1_000_000, ["Size"]))
    assert len(text) < 300 and text.startswith("There is no reward 'xxx")
    assert quoted("it's") == '"it\'s"'
    assert quoted("x" * 500) == f"'{'x' * 200}...' (500 characters)"
