"""Tests of compiler_gym.util.nearest_names."""

from itertools import count

from compiler_gym.util.nearest_names import did_you_mean, nearest_names


def test_best_match_comes_first():
    assert nearest_names("Autophse", ["InstCount", "AutophaseDict", "Autophase"]) == [
        "Autophase",
        "AutophaseDict",
    ]


def test_case_is_ignored_and_kept():
    assert nearest_names("cBENCH-V1", ["cbench-v1", "blas-v0"]) == ["cbench-v1"]


def test_nothing_similar():
    assert nearest_names("zzz", ["Autophase"]) == []
    assert did_you_mean("zzz", ["Autophase"]) == ""


def test_sentence():
    assert did_you_mean("Irr", ["Ir", "Bitcode"]) == " Did you mean Ir?"


def test_endless_candidates():
    assert nearest_names("name-17", (f"name-{i}" for i in count()), count=1) == ["name-17"]
