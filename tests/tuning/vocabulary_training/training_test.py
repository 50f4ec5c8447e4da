"""Tests of the training of vocabularies."""

import json
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

import compiler_gym
from compiler_gym.envs.llvm.inst2vec import load_vocabulary
from compiler_gym.tuning.vocabulary_training import __main__ as program
from compiler_gym.tuning.vocabulary_training import skip_gram, translation
from compiler_gym.tuning.vocabulary_training.corpus import (
    STATES,
    Corpus,
    Observation,
    Observer,
    Sample,
    entity_names,
    flows_of,
    frequent_statements,
    share_known,
    usual_triplets,
)
from compiler_gym.tuning.vocabulary_training.judgement import analogies, opcode_of, same_opcode
from compiler_gym.util import llvm_tools

# LLVM's own tool, which makes the triplets, comes with its analysis.
needs_tool = pytest.mark.skipif(llvm_tools.llvm_version() < 22, reason="needs LLVM 22")

SOURCE = """
define i32 @f(i32 %a) {
  %b = add i32 %a, 1
  %c = icmp slt i32 %b, 5
  br i1 %c, label %x, label %y
x:
  ret i32 %b
y:
  ret i32 0
}
"""


def flow(uri, *statements):
    """A program of consecutive statements, each of which runs after the one before."""
    steps = np.arange(len(statements) - 1, dtype=np.int32)
    return Observation(uri, "source", list(statements), np.stack([steps, steps + 1]), Counter())


def corpus_of(*observations):
    corpus = Corpus()
    for each in observations:
        corpus.add(each)
    return corpus


@needs_tool
def test_observations_of_a_program(tmp_path):
    path = tmp_path / "program.ll"
    path.write_text(SOURCE)
    with compiler_gym.make("llvm-v0") as env:
        seen = Observer(1000, seed=0).observe(env, f"file://{path}")
        again = Observer(1000, seed=0).observe(env, f"file://{path}")
        assert Observer(1, seed=0).observe(env, f"file://{path}") == []
    assert [each.state for each in seen] == list(STATES)
    assert [each.statements for each in seen] == [each.statements for each in again]
    source = seen[0]
    assert len(source.statements) == 5
    # The control flow, and the uses of the sum and of the comparison.
    expected = {(0, 1), (1, 2), (2, 3), (2, 4)} | {(0, 3)}
    assert {*map(tuple, source.flows.T.tolist())} == expected
    names = entity_names()
    triplets = {(names[head], names[tail], relation) for head, tail, relation in source.triplets}
    assert {("Add", "IntegerTy", 0), ("Add", "ICmp", 1), ("Add", "Constant", 3)} <= triplets
    # A comparison counts as its predicate too.
    assert {("ICmp", "Br", 1), ("ICMP_slt", "Br", 1), ("ICMP_slt", "Constant", 3)} <= triplets


def test_flows_leave_out_other_code():
    """Node 0 calls the program, and arguments are the result of no instruction."""
    edges = np.array([(2, 0, 1), (0, 1, 2), (1, 1, 3), (1, 3, 2), (1, 4, 1)]).T
    graph = dict(zip(("edge_flow", "edge_source", "edge_target"), edges, strict=True))
    flows = flows_of({**graph, "node_type": np.array([0, 0, 0, 1, 1])})
    assert flows.T.tolist() == [[0, 1], [0, 1]]


def test_frequent_statements():
    corpus = corpus_of(
        flow("benchmark://opensource-v0/one/a.c", "x", "y", "x", "only", "only"),
        flow("benchmark://opensource-v0/two/b.c", "y", "x", "rare"),
    )
    assert frequent_statements(corpus, occurrences=2, packages=2) == ["x", "y"]
    assert frequent_statements(corpus, occurrences=2, packages=1) == ["x", "only", "y"]
    known = np.array([each in "xy" for each in corpus.statements])
    assert share_known(corpus.samples, known) == pytest.approx(5 / 8)


def test_usual_triplets():
    counts = Counter({(0, 1, 0): 99, (0, 2, 0): 1, (0, 2, 1): 1, (0, 3, 40): 9})
    assert usual_triplets(counts, 0.05) == [(0, 1, 0), (0, 2, 1)]


def test_neighbours():
    """One and two flows away, where the second neighbours are those of a random walk."""
    sample = Sample("", "source", np.array([0, 1, 2]), np.array([[0, 1], [1, 2]]))
    counts = skip_gram.neighbours([sample], np.array([0, 1, 2]), 3).toarray()
    np.testing.assert_allclose(counts, [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]])


def test_statements_in_the_same_places_are_near():
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(50):
        # 0 is followed by 2 or 3, and 1 by 4 or 5.
        first = rng.integers(0, 2, 20)
        statements = np.stack([first, 2 + 2 * first + rng.integers(0, 2, 20)], axis=1).ravel()
        steps = np.arange(0, len(statements), 2)
        samples.append(Sample("", "source", statements, np.stack([steps, steps + 1])))
    counts = skip_gram.neighbours(samples, np.arange(6), 6)
    seen = []
    embeddings = skip_gram.train(counts, 8, 50, seed=0, watch=seen.append)
    assert seen == list(range(1, 51))
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    near = unit[2:] @ unit[2:].T - 2 * np.eye(4)
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2]
    np.testing.assert_array_equal(embeddings, skip_gram.train(counts, 8, 50, seed=0))


def test_translations():
    """The tail follows from the head and the relation; entity 9 is in no triplet."""
    triplets = [
        (head, head + 3 * relation + 3, relation) for head in range(3) for relation in (0, 1)
    ]
    model = translation.train(triplets, 10, 12, 200, seed=0)
    assert model.ranks(triplets, triplets).max() == 1
    assert not model.entities[9].any()
    np.testing.assert_allclose(np.linalg.norm(model.entities[:9], axis=1), 1)
    again = translation.train(triplets[::-1], 10, 12, 200, seed=0)
    np.testing.assert_array_equal(model.entities, again.entities)


def test_judgement():
    words = ["add", "mul", "xor"]
    statements = [f"<%ID> = {word} {kind} <%ID>" for kind in ("i32", "i64") for word in words]
    embeddings = np.array([[*np.eye(3)[n % 3], n // 3] for n in range(6)], dtype=np.float32)
    indices = {statement: index for index, statement in enumerate(statements)}
    result = analogies(indices, embeddings, ("i32", "i64"))
    assert (result.asked, result.first) == (6, 1.0)
    shuffled = analogies(indices, embeddings[[0, 1, 2, 4, 5, 3]], ("i32", "i64"))
    assert shuffled.first < result.first
    assert analogies(indices, embeddings, ("float", "double")).asked == 0
    assert opcode_of("tail call void <@ID>()") == "call"
    near = np.repeat(np.eye(8, dtype=np.float32), 6, axis=0)
    names = [f"<%ID> = {word} i8 <INT>" for word in "abcdefgh" for _ in range(6)]
    assert same_opcode(names, near) == (1, pytest.approx(5 / 47))


@needs_tool
def test_program(tmp_path, monkeypatch):
    """It writes what the observations read, and the same again."""
    uris = []
    for name in ("train", "validation", "kernel", "bad"):
        path = tmp_path / f"{name}.ll"
        path.write_text(SOURCE if name != "bad" else "define")
        uris.append(f"file://{path}")
    train, validation, kernel, bad = uris
    monkeypatch.setattr(
        program, "_files", lambda part, *_: [train if part == "train" else validation]
    )
    monkeypatch.setattr(program, "_kernels", lambda: [bad, kernel])
    monkeypatch.setattr(program, "_SEED_STEPS", 5)
    folders = [tmp_path / name for name in ("first", "second")]
    for folder, jobs in zip(folders, ("1", "2"), strict=True):
        arguments = ["-o", str(folder), "--steps", "3", "--jobs", jobs]
        arguments += ["--occurrences", "1", "--packages", "1"]
        result = CliRunner().invoke(program.app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert f"{bad} is left out" in result.output
    vocabulary = load_vocabulary(folders[0] / "inst2vec")
    assert {"ret i32 <INT>", "!UNK"} <= vocabulary.indices.keys()
    sections = json.loads((folders[0] / "ir2vec" / "vocabulary.json").read_text())
    assert {len(each) for section in sections.values() for each in section.values()} == {75}
    assert {"Add"} <= sections["Opcodes"].keys() and {"ICMP_slt"} <= sections["Arguments"].keys()
    card = (folders[0] / "README.md").read_text()
    assert "| this: validation (1 programs) |" in card
    for path in ("inst2vec/dictionary.json", "inst2vec/embeddings.npy", "ir2vec/vocabulary.json"):
        assert (folders[0] / path).read_bytes() == (folders[1] / path).read_bytes()
