"""The card of trained vocabularies: their data, and checks of what they learnt."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from compiler_gym.datasets.selection import opensource_package
from compiler_gym.envs.llvm.datasets.opensource_dataset import packages_of
from compiler_gym.envs.llvm.inst2vec import Vocabulary
from compiler_gym.tuning.vocabulary_training.corpus import (
    STATES,
    Corpus,
    Triplet,
    share_known,
)
from compiler_gym.tuning.vocabulary_training.judgement import SWAPS, analogies, same_opcode
from compiler_gym.tuning.vocabulary_training.translation import Translations
from compiler_gym.util import llvm_tools

_FAMILIES = (
    (
        "Add",
        "Sub",
        "Mul",
        "UDiv",
        "SDiv",
        "URem",
        "SRem",
        "Shl",
        "LShr",
        "AShr",
        "And",
        "Or",
        "Xor",
    ),
    ("FNeg", "FAdd", "FSub", "FMul", "FDiv", "FRem"),
    ("Trunc", "ZExt", "SExt", "BitCast", "PtrToInt", "IntToPtr"),
    ("FPTrunc", "FPExt", "FPToSI", "FPToUI", "SIToFP", "UIToFP"),
)


def describe_data(corpus: Corpus) -> str:
    """Returns the section about the programs that were learnt from."""
    programs = corpus.programs
    packages = sorted({opensource_package(each) for each in programs})
    facts = packages_of()
    licenses = Counter(facts[each].license for each in packages if each in facts)
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(licenses.items()))
    instructions = sum(len(sample.statements) for sample in corpus.samples)
    return (
        f"- {len(programs)} files of {len(packages)} packages, the part `train` of "
        f"`opensource-v0`, compiled by LLVM {llvm_tools.llvm_version()}.\n"
        f"- {len(corpus.samples)} samples with {instructions} instructions, "
        f"{len(corpus.statements)} different statements.\n"
        f"- Licences of the packages: {listed}. The vocabularies have counts and normalised single "
        "instructions, and no code of them."
    )


def describe_statements(
    vocabularies: Mapping[str, Vocabulary], held_out: Mapping[str, Corpus]
) -> str:
    """Returns the tables about vocabularies of inst2vec.

    Args:
        vocabularies: By their names.
        held_out: Programs that none was trained on, by their names.
    """
    return "\n\n".join(
        "\n".join(lines)
        for lines in (
            _coverage(vocabularies, held_out),
            _nearest(vocabularies),
            _analogies(vocabularies),
        )
    )


def _coverage(
    vocabularies: Mapping[str, Vocabulary], held_out: Mapping[str, Corpus]
) -> Iterator[str]:
    yield from _head("instructions with a statement in the vocabulary", STATES)
    for name, vocabulary in vocabularies.items():
        for title, corpus in held_out.items():
            known = np.array([each in vocabulary.indices for each in corpus.statements], dtype=bool)
            shares = [share_known(corpus.in_state(state), known) for state in STATES]
            yield _row(f"{name}: {title} ({len(corpus.programs)} programs)", map(_percent, shares))


def _nearest(vocabularies: Mapping[str, Vocabulary]) -> Iterator[str]:
    yield from _head("five nearest statements", ("statements", "with the same opcode", "by chance"))
    for name, vocabulary in vocabularies.items():
        statements = sorted(vocabulary.indices, key=vocabulary.indices.__getitem__)
        shares = same_opcode(statements, vocabulary.embeddings)
        yield _row(name, (str(len(statements)), *map(_percent, shares)))


def _analogies(vocabularies: Mapping[str, Vocabulary]) -> Iterator[str]:
    titles = [f"{name}: {it}" for name in vocabularies for it in ("questions", "first", "of five")]
    yield from _head("analogies", titles)
    for swap in SWAPS:
        cells = []
        for vocabulary in vocabularies.values():
            result = analogies(vocabulary.indices, vocabulary.embeddings, swap)
            cells += [str(result.asked), _percent(result.first), _percent(result.among_five)]
        yield _row(f"`{swap[0]}` to `{swap[1]}`", cells)


def describe_entities(
    model: Translations,
    names: Sequence[str],
    trained: Sequence[Triplet],
    held_out: Sequence[Triplet],
) -> str:
    """Returns the table about the seed vectors of IR2Vec."""
    has_vector = np.linalg.norm(model.entities, axis=1) > 0
    asked = [each for each in held_out if has_vector[each[0]] and has_vector[each[1]]]
    known = {*trained, *asked}
    new = sorted({*asked} - {*trained})
    ranks = {
        "learnt from": model.ranks(sorted({*asked} - {*new}), known),
        "not learnt from": model.ranks(new, known),
    }
    near, chance = _same_family(model, names)
    without = [name for name, has in zip(names, has_vector, strict=True) if not has]
    lines = [
        *_head("seed vectors", ("value",)),
        _row("triplets learnt from", [str(len(trained))]),
        _row("triplets of the validation files", [str(len(asked))]),
        *(
            _row(f"{title}: number, mean rank of the right tail, among the first ten", [_ranks(it)])
            for title, it in ranks.items()
        ),
        _row("nearest opcode is of the same family", [_percent(near)]),
        _row("the same by chance", [_percent(chance)]),
        _row("entities without a vector", [f"{len(without)}: {', '.join(without)}"]),
    ]
    return "\n".join(lines)


def _same_family(model: Translations, names: Sequence[str]) -> tuple[float, float]:
    """Returns the share of opcodes whose nearest one is of the same family, and by chance."""
    numbers = {name: number for number, name in enumerate(names)}
    members = [
        (family, numbers[name])
        for family, group in enumerate(_FAMILIES)
        for name in group
        if model.entities[numbers[name]].any()
    ]
    families = np.array([family for family, _ in members])
    vectors = model.entities[[number for _, number in members]]
    near = vectors @ vectors.T
    np.fill_diagonal(near, -np.inf)
    same = families[near.argmax(axis=1)] == families
    sizes = np.bincount(families)
    chance = (sizes * (sizes - 1)).sum() / max(len(members) * (len(members) - 1), 1)
    return float(same.mean()), float(chance)


def _ranks(ranks: np.ndarray) -> str:
    if not ranks.size:
        return "0"
    return f"{ranks.size}, {ranks.mean():.2f}, {_percent(float((ranks <= 10).mean()))}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _head(title: str, columns: Iterable[str]) -> Iterator[str]:
    columns = list(columns)
    yield _row(title, columns)
    yield _row("---", ["---:"] * len(columns))


def _row(title: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join((title, *cells))} |"
