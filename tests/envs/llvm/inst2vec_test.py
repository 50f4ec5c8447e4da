import hashlib
import json
import os
import pickle
import re
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from compiler_gym.envs.llvm import inst2vec
from compiler_gym.envs.llvm.inst2vec import (
    Inst2vecEncoder,
    StatementReader,
    Vocabulary,
    default_encoder,
    find_vocabulary,
    load_vocabulary,
    save_vocabulary,
)
from compiler_gym.util.runfiles_path import runfiles_path
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri

SHIPPED = runfiles_path("compiler_gym/data/vocabularies/inst2vec")


def function(*lines, header=""):
    body = "".join(f"  {line}\n" for line in lines)
    return f"; ModuleID = '-'\n{header}\ndefine void @f() #0 {{\n{body}}}\n\n!0 = !{{i32 1}}\n"


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("ret void", "ret void"),
        ("%3 = add nsw i32 %1, -7", "<%ID> = add nsw i32 <%ID>, <INT>"),
        ("%3 = fadd double %1, 1.500000e+00", "<%ID> = fadd double <%ID>, <FLOAT>"),
        ("%3 = fmul float %1, 0x3FB99999A0000000", "<%ID> = fmul float <%ID>, <FLOAT>"),
        ("%3 = load i32, ptr %1, align 4", "<%ID> = load i32, i32* <%ID>, align 4"),
        ("%3 = load ptr, ptr @g, align 8, !tbaa !5", "<%ID> = load i8*, i8** <@ID>, align 8"),
        ("%3 = load volatile i8, ptr %1, align 1", "<%ID> = load volatile i8, i8* <%ID>, align 1"),
        ("store i32 0, ptr %1, align 4", "store i32 <INT>, i32* <%ID>, align 4"),
        (
            "store { i32, ptr } %2, ptr %1, align 8",
            "store { i32, i8* } <%ID>, { i32, i8* }* <%ID>, align 8",
        ),
        (
            "%3 = getelementptr inbounds nuw [4 x i32], ptr %1, i64 0, i64 %2",
            "<%ID> = getelementptr inbounds [4 x i32], [4 x i32]* <%ID>, i64 <INT>, i64 <%ID>",
        ),
        ("%3 = alloca [16 x i8], align 16", "<%ID> = alloca [16 x i8], align 16"),
        ("br i1 %3, label %4, label %5", "br i1 <%ID>, label <%ID>, label <%ID>"),
        ("br label %4, !llvm.loop !7", "br label <%ID>"),
        (
            "%3 = phi i32 [ 1, %0 ], [ %2, %4 ]",
            "<%ID> = phi i32 [ <INT>, <%ID> ], [ <%ID>, <%ID> ]",
        ),
        (
            "%3 = tail call i32 @g(ptr noundef %1, i32 noundef 5) #4",
            "<%ID> = tail call i32 <@ID>(i8* <%ID>, i32 <INT>)",
        ),
        ("%3 = zext nneg i32 %1 to i64", "<%ID> = zext i32 <%ID> to i64"),
        ("%3 = or disjoint i8 %1, 4", "<%ID> = or i8 <%ID>, <INT>"),
        ("%3 = icmp samesign ult i32 %1, 9", "<%ID> = icmp ult i32 <%ID>, <INT>"),
        ("%3 = icmp eq ptr %1, null", "<%ID> = icmp eq i8* <%ID>, null"),
        (
            "%3 = select i1 %1, <4 x i8> %2, <4 x i8> zeroinitializer",
            "<%ID> = select i1 <%ID>, <4 x i8> <%ID>, <4 x i8> zeroinitializer",
        ),
        ('%3 = call i32 asm "nop", "=r"()', "<%ID> = call i32 asm <STRING>, <STRING>()"),
    ],
)
def test_statements(line, statement):
    assert StatementReader().read(function(line)) == [statement]


def test_structures_are_inlined():
    header = "%struct.a = type { i32, %0 }\n%0 = type { ptr, i8 }\n"
    statements = StatementReader().read(
        function("%3 = alloca %struct.a", "%4 = alloca %0", header=header)
    )
    assert statements == ["<%ID> = alloca { i32, { i8*, i8 } }", "<%ID> = alloca { i8*, i8 }"]
    reader = StatementReader()
    for body in ("{ i8 }", "{ i16 }", "{ i8 }"):
        ir = function("%3 = alloca %struct.a", header=f"%struct.a = type {body}\n")
        assert reader.read(ir) == [f"<%ID> = alloca {body}"]


def test_statements_of_several_lines():
    ir = function("switch i32 %1, label %2 [", "  i32 5, label %3", "  i32 6, label %4", "]")
    assert StatementReader().read(ir) == [
        "switch i32 <%ID>, label <%ID> [ i32 <INT>, label <%ID> i32 <INT>, label <%ID> ]"
    ]


def test_only_instructions_are_statements():
    assert (
        StatementReader().read("; ModuleID = '-'\n\n@g = global i32 3\n\ndeclare void @h()\n") == []
    )
    assert StatementReader().read("") == []
    ir = function("%3 = add i32 %1, 5, !dbg !9", "  #dbg_value(i32 %3, !7, !4, !9)", "ret void")
    assert StatementReader().read(ir) == ["<%ID> = add i32 <%ID>, <INT>", "ret void"]


class Yielding(str):
    """A text that lets another thread go on whenever a dictionary looks for it."""

    def __hash__(self):
        time.sleep(0)
        return super().__hash__()


def test_threads_share_a_reader(monkeypatch):
    monkeypatch.setattr(inst2vec, "_MAX_STRUCTURES", 2)
    monkeypatch.setattr(inst2vec, "_MAX_STATEMENTS", 2)
    reader = StatementReader()

    def read(number):
        for i in range(number, number + 300):
            packed = {
                "structures": Yielding(f"%struct.a = type {{ i{i % 3 + 1} }}\n"),
                "lines": f"%3 = alloca %struct.a\n%4 = add i32 %1, {i}\nret void\n",
                "indices": np.array([0, 1, 2], dtype="<i4").view(np.int8),
            }
            assert reader.unpack(packed) == [
                f"<%ID> = alloca {{ i{i % 3 + 1} }}",
                "<%ID> = add i32 <%ID>, <INT>",
                "ret void",
            ]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_kernels(env, kernel):
    """Every instruction is a statement, without names, and before and after optimisation."""
    env.reset(benchmark=kernel_uri(kernel))
    for actions in ([], ["sroa", "instcombine", "inline", "gvn", "loop-vectorize"]):
        env.multistep([env.action_space[name] for name in actions])
        statements = env.observation["Inst2vecPreprocessedText"]
        assert len(statements) == env.observation["IrInstructionCount"]
        rest = "\n".join(statements).replace("<%ID>", "x").replace("<@ID>", "x")
        assert re.search(r"[%@!#]|  |\bptr\b", rest) is None
        # The service takes the instructions apart in another way.
        assert statements == StatementReader().read(env.observation["Ir"])


# --------------------------------------------------------------------------------------------------
# Vocabularies.


@pytest.fixture
def vocabulary():
    embeddings = np.arange(600, dtype=np.float32).reshape(3, 200)
    return Vocabulary({"ret void": 0, "!UNK": 1, "unreachable": 2}, embeddings)


def write(folder, dictionary, embeddings, form):
    if form == "pickle":
        (folder / "dictionary.pickle").write_bytes(pickle.dumps(dictionary, protocol=2))
        (folder / "embeddings.pickle").write_bytes(pickle.dumps(embeddings, protocol=2))
    else:
        (folder / "dictionary.json").write_text(json.dumps(dictionary))
        np.save(folder / "embeddings.npy", embeddings)


def test_encoder(vocabulary):
    encoder = Inst2vecEncoder(vocabulary)
    statement = next(iter(encoder.vocab))
    assert encoder.vocab[statement] == encoder.encode([statement])[0]
    assert encoder.vocab["!UNK"] == vocabulary.unknown
    assert encoder.embeddings.shape == (len(encoder.vocab), 200)
    np.testing.assert_array_equal(
        encoder.embeddings[encoder.vocab[statement]], encoder.embed(encoder.encode([statement]))[0]
    )

    encoder = Inst2vecEncoder(vocabulary)
    statements = encoder.preprocess(function("%1 = freeze i8 undef", "unreachable"))
    indices = encoder.encode(statements)
    assert indices.dtype == np.int32
    assert indices.tolist() == [1, 2]
    embeddings = encoder.embed(indices)
    assert embeddings.dtype == np.float32
    np.testing.assert_array_equal(embeddings, vocabulary.embeddings[1:])
    assert encoder.embed(encoder.encode([])).shape == (0, 200)
    with pytest.raises(IndexError):
        encoder.embed([3])


def test_checksums(tmp_path, vocabulary):
    write(tmp_path, dict(vocabulary.indices), vocabulary.embeddings, "pickle")
    digest = hashlib.sha256((tmp_path / "embeddings.pickle").read_bytes()).hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{digest}  embeddings.pickle\n")
    load_vocabulary(tmp_path)
    (tmp_path / "SHA256SUMS").write_text(f"{digest[::-1]} *embeddings.pickle\n")
    with pytest.raises(ValueError, match=f"{digest}.*{digest[::-1]}"):
        load_vocabulary(tmp_path)
    (tmp_path / "SHA256SUMS").write_text("nonsense\n")
    with pytest.raises(ValueError, match="sha256sum"):
        load_vocabulary(tmp_path)


@pytest.mark.parametrize(
    ("dictionary", "shape", "reason"),
    [
        ({"ret void": 0}, (1, 200), "'!UNK'"),
        ({"!UNK": 1}, (1, 200), "outside"),
        ({"!UNK": -1}, (1, 200), "outside"),
        (["!UNK"], (1, 200), "malformed"),
        ({"!UNK": None}, (1, 200), "malformed"),
        ({"!UNK": 0}, (2, 100), "malformed"),
        ({"!UNK": 0}, (200,), "malformed"),
        ({"!UNK": 0}, (), "malformed"),
    ],
)
def test_malformed(tmp_path, dictionary, shape, reason):
    write(tmp_path, dictionary, np.zeros(shape), "json and npy")
    with pytest.raises(ValueError, match=reason):
        load_vocabulary(tmp_path)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80\x04K\x01", pickle.dumps(os.system)])
def test_unreadable_pickles(tmp_path, data):
    """Nothing in them is executed."""
    (tmp_path / "dictionary.pickle").write_bytes(data)
    np.save(tmp_path / "embeddings.npy", np.zeros((1, 200)))
    with pytest.raises(ValueError, match="Cannot read"):
        load_vocabulary(tmp_path)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"dictionary\.pickle or dictionary\.json"):
        load_vocabulary(tmp_path)


@pytest.fixture
def fresh_encoder():
    default_encoder.cache_clear()
    yield
    default_encoder.cache_clear()


def test_users_vocabulary(tmp_path, monkeypatch, vocabulary, fresh_encoder, env):
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("COMPILER_GYM_INST2VEC_VOCABULARY", f"~/{tmp_path.name}")
    write(tmp_path, dict(vocabulary.indices), vocabulary.embeddings, "pickle")
    assert find_vocabulary() == tmp_path
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert env.inst2vec.vocabulary.indices == vocabulary.indices
    assert env.observation.spaces["Inst2vecEmbeddingIndices"].default_value.tolist() == [1]
    np.testing.assert_array_equal(
        env.observation.spaces["Inst2vec"].default_value, vocabulary.embeddings[1:2]
    )


def test_vocabulary_in_the_folder_of_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path))
    assert find_vocabulary() == SHIPPED
    (tmp_path / "inst2vec").mkdir()
    (tmp_path / "inst2vec" / "dictionary.json").write_text("{}")
    assert find_vocabulary() == tmp_path / "inst2vec"


def test_shipped_vocabulary(fresh_encoder, env):
    """It works without any setting, and is that of the card."""
    encoder = Inst2vecEncoder()
    assert encoder.vocabulary.unknown == len(encoder.vocab) - 1
    assert encoder.embeddings.dtype == np.float32
    lengths = np.linalg.norm(encoder.embeddings, axis=1)
    assert np.isfinite(lengths).all() and lengths.min() > 0
    first = "<%ID> = add nsw i32 <%ID>, <INT>"
    near = encoder.embeddings @ encoder.embeddings[encoder.vocab[first]] / lengths
    statements = list(encoder.vocab)
    closest = [statements[index] for index in near.argsort()[::-1][1:6]]
    assert sum(" = add " in each or " = sub " in each for each in closest) >= 3, closest
    env.reset()
    embeddings = env.observation["Inst2vec"]
    assert embeddings.shape == (env.observation["IrInstructionCount"], 200)
    indices = env.observation["Inst2vecEmbeddingIndices"]
    assert (indices != encoder.vocabulary.unknown).mean() > 0.9
    statements = env.observation["Inst2vecPreprocessedText"]
    np.testing.assert_array_equal(env.inst2vec.encode(statements), indices)
    np.testing.assert_array_equal(env.inst2vec.embed(indices), embeddings)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_save(tmp_path, vocabulary, dtype):
    save_vocabulary(vocabulary, tmp_path, dtype)
    loaded = load_vocabulary(tmp_path)
    assert loaded.indices == vocabulary.indices
    assert loaded.embeddings.dtype == np.float32
    np.testing.assert_array_equal(loaded.embeddings, vocabulary.embeddings.astype(dtype))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".npy"]
