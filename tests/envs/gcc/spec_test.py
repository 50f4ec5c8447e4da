import os

import pytest

from compiler_gym.envs.gcc import get_gcc, get_spec
from compiler_gym.envs.gcc.spec import read_spec
from compiler_gym.errors import EnvironmentNotSupported
from tests.envs.gcc.compilers import GCC_9_OPTIMIZERS, GCC_9_PARAMS, FakeGcc


@pytest.fixture(scope="module")
def real():
    return get_spec(get_gcc())


def test_options_are_tried(fake_gcc):
    names = {option.name: option for option in read_spec(get_gcc(fake_gcc.path)).options}
    assert "-fvanished" not in names
    assert len(names["-fstack-protector-all"]) == 1
    assert names["-fpack-struct"].values == ("=1", "=2", "=4", "=8", "=16")
    assert len(names["-fgcse"]) == 2


def test_gcc_9(tmp_path):
    gcc = FakeGcc(tmp_path / "gcc-9", "gcc (Fake) 9.1.0", GCC_9_OPTIMIZERS, GCC_9_PARAMS)
    spec = read_spec(get_gcc(gcc.path))
    assert [str(option) for option in spec.options] == [
        "-O",
        "-fgcse",
        "-fira-region",
        "--param=predictable-branch-outcome",
        "--param=inline-min-speedup",
        "--param=parloops-schedule",
    ]
    assert spec.size == 5 * 3 * 4 * 52 * (2**31 + 1) * 3


def test_no_options(tmp_path):
    gcc = FakeGcc(tmp_path / "gcc-3", "gcc (Fake) 3.4.0", "unrecognized", "unrecognized")
    with pytest.raises(EnvironmentNotSupported, match=r"3\.4\.0"):
        read_spec(get_gcc(gcc.path))


class TestCache:
    def test_a_new_compiler_of_the_same_version_is_asked(self, fake_gcc, tmp_path):
        get_spec(get_gcc(fake_gcc.path), tmp_path / "cache")
        count = len(fake_gcc.calls("--help"))
        os.utime(fake_gcc.path, (1, 1))
        get_spec(get_gcc(fake_gcc.path), tmp_path / "cache")
        assert len(fake_gcc.calls("--help")) == 2 * count

    @pytest.mark.parametrize("text", ["", "{}", '{"options": [{"kind": "Other"}]}'])
    def test_damaged(self, fake_gcc, tmp_path, text):
        gcc = get_gcc(fake_gcc.path)
        spec = get_spec(gcc, tmp_path / "cache")
        (file,) = (tmp_path / "cache").iterdir()
        file.write_text(text)
        assert get_spec(gcc, tmp_path / "cache") == spec
        assert file.read_text() != text

    def test_no_place(self, fake_gcc, tmp_path, caplog):
        (tmp_path / "cache").touch()
        assert get_spec(get_gcc(fake_gcc.path), tmp_path / "cache").options
        assert "Cannot keep the options" in caplog.text


def test_choices(real):
    words = ["-Os", "-fno-gcse", "--param=max-unroll-times=5"]
    choices = real.choices_of(words)
    assert real.words_of(choices) == words
    assert choices.count(-1) == len(choices) - 3
    assert real.choices_of("-O2 -Os -fno-gcse --param=max-unroll-times=5") == choices


@pytest.mark.parametrize("word", ["-fno-gsce", "-O7", "", "--param=max-unroll-times=x", "gcse"])
def test_unknown_option(real, word):
    with pytest.raises(ValueError, match="option of gcc"):
        real.choices_of([word])


def test_real_options(real):
    """About as many as GCC documents, and each value is found again."""
    assert len(real.options) > 300
    assert len(real.actions) > 1500
    assert real.size > 10**1000
    for number, option in enumerate(real.options):
        for value in (0, len(option) - 1):
            choices = real.choices_of([option[value]])
            assert choices[number] == value
    assert len({action.name for action in real.actions}) == len(real.actions)


def test_real_flags_are_all_taken(real, tmp_path):
    """None is refused by itself, as a misspelt one would be."""
    (tmp_path / "x.c").write_text("int x;\n")
    flags = [option for option in real.options if type(option).__name__ == "GccFlagOption"]
    gcc = get_gcc()
    for texts in ([flag[0] for flag in flags], [flag[len(flag) - 1] for flag in flags]):
        # Some exclude each other.
        texts = [text for text in texts if "live-patching" not in text]
        gcc.run([*texts, "-S", "x.c", "-o", "x.s"], tmp_path)
