"""Trains the shipped vocabularies: ``python -m compiler_gym.tuning.vocabulary_training``."""

import json
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from subprocess import SubprocessError
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from compiler_gym.cli.console import run_program
from compiler_gym.datasets import Datasets
from compiler_gym.distributed.pool import in_order
from compiler_gym.distributed.task import Job
from compiler_gym.distributed.threads import Call, thread_pool
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.inst2vec import (
    EMBEDDING_SIZE,
    FOLDER,
    UNKNOWN,
    Vocabulary,
    load_vocabulary,
    save_vocabulary,
)
from compiler_gym.envs.llvm.ir2vec import IR2VEC_FILE, sections_of
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.tuning.vocabulary_training import card, skip_gram, translation
from compiler_gym.tuning.vocabulary_training.corpus import (
    Corpus,
    Observation,
    Observer,
    entity_names,
    frequent_statements,
    usual_triplets,
)

_SEED_DIMENSION = 75
_SEED_STEPS = 300
_SEED_DIGITS = 4
_LEAST_SHARE = 0.01
_CARD = "README.md"
_REPORTED = 100
# One program that cannot be read does not end the training.
_FAILURES = (BenchmarkInitError, ServiceError, ValueError, OSError, SubprocessError)

_console = Console(stderr=True, highlight=False)

app = typer.Typer(add_completion=False)


@app.command()
def train(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder.")],
    files: Annotated[
        int, typer.Option(min=1, help="The most files of each part, chosen at random.")
    ] = 10_000,
    largest: Annotated[int, typer.Option(help="The most IR instructions of a program.")] = 20_000,
    occurrences: Annotated[
        int, typer.Option(min=1, help="The least occurrences of a statement.")
    ] = 10,
    packages: Annotated[int, typer.Option(min=1, help="The least packages with a statement.")] = 2,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the skip-gram model.")] = 100,
    compare: Annotated[
        Path | None,
        typer.Option(help="The folder of another inst2vec vocabulary, for the card."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Programs at a time.")] = 1,
) -> None:
    """Train the vocabularies of inst2vec and IR2Vec on real software, and write their card.

    Downloads all packages of the parts train and validation of opensource-v0. Takes about an hour
    on one processor. The same command gives the same files. Needs SciPy, and the tool llvm-ir2vec
    of LLVM 22.
    """
    observer = Observer(largest, seed)
    learnt, validation = (
        _read(observer, _files(part, files, seed), jobs) for part in ("train", "validation")
    )
    held_out = {"validation": validation, "kernels-v0": _read(observer, _kernels(), jobs)}
    _make_folder(output / FOLDER)
    save_vocabulary(
        _train_statements(learnt, occurrences, packages, steps, seed), output / FOLDER, np.float16
    )
    # As it is loaded.
    vocabularies = {"this": load_vocabulary(output / FOLDER)}
    if compare is not None:
        vocabularies["other"] = load_vocabulary(compare)
    names = entity_names()
    triplets, judges = (
        usual_triplets(each.triplets, _LEAST_SHARE) for each in (learnt, validation)
    )
    model = translation.train(triplets, len(names), _SEED_DIMENSION, _SEED_STEPS, seed)
    _make_folder((output / IR2VEC_FILE).parent)
    _write_seeds(names, model.entities, output / IR2VEC_FILE)
    sections = (
        "# Vocabularies of inst2vec and IR2Vec",
        f"Made by `{_command(context)}`.",
        card.describe_data(learnt),
        card.describe_statements(vocabularies, held_out),
        card.describe_entities(model, names, triplets, judges),
    )
    text = "\n\n".join(sections) + "\n"
    (output / _CARD).write_text(text, encoding="utf-8")
    print(text)


def _command(context: typer.Context) -> str:
    """Returns the command with all numbers on which its result depends."""
    numbers = {key: value for key, value in context.params.items() if isinstance(value, int)}
    numbers.pop("jobs")
    options = " ".join(f"--{key} {value}" for key, value in sorted(numbers.items()))
    return f"python -m compiler_gym.tuning.vocabulary_training --output vocabularies {options}"


def _kernels() -> list[str]:
    return list(Datasets(get_llvm_datasets())["benchmark://kernels-v0"].benchmark_uris())


def _files(part: str, most: int, seed: int) -> list[str]:
    uris = list(Datasets(get_llvm_datasets())["benchmark://opensource-v0"].benchmark_uris(part))
    chosen = random.Random(seed).sample(uris, min(most, len(uris)))
    return sorted(chosen, key=uris.index)


def _read(observer: Observer, uris: Sequence[str], jobs: int) -> Corpus:
    """Observes programs. The order of the corpus is that of the programs."""
    corpus = Corpus()

    def observe(uri: str, worker: Worker) -> list[Observation]:
        return observer.observe(worker.env("llvm-v0", {}), uri)

    calls = (Job(Call(uri, partial(observe, uri))) for uri in uris)
    with thread_pool(jobs) as pool:
        for number, outcome in enumerate(in_order(pool, calls), start=1):
            if isinstance(outcome.exception, _FAILURES):
                _console.print(
                    f"{outcome.task.name} is left out: {outcome.exception}", soft_wrap=True
                )
            else:
                for each in outcome.result():
                    corpus.add(each)
            if number % _REPORTED == 0 or number == len(uris):
                _console.print(
                    f"{number} of {len(uris)} programs, {len(corpus.statements)} statements"
                )
    return corpus


def _train_statements(
    corpus: Corpus, occurrences: int, packages: int, steps: int, seed: int
) -> Vocabulary:
    entries = [*frequent_statements(corpus, occurrences, packages), UNKNOWN]
    indices = {statement: index for index, statement in enumerate(entries)}
    unknown = indices[UNKNOWN]
    numbers = np.array([indices.get(each, unknown) for each in corpus.statements])
    counts = skip_gram.neighbours(corpus.samples, numbers, len(entries))
    with _console.status("Training") as status:

        def watch(step: int) -> None:
            status.update(f"{len(entries)} statements, step {step} of {steps}")

        embeddings = skip_gram.train(counts, EMBEDDING_SIZE, steps, seed, watch)
    return Vocabulary(indices, embeddings)


def _write_seeds(names: Sequence[str], vectors: np.ndarray, path: Path) -> None:
    seeds = {
        name: [round(number, _SEED_DIGITS) for number in vector.tolist()]
        for name, vector in zip(names, vectors, strict=True)
        if vector.any()
    }
    path.write_text(json.dumps(sections_of(seeds)), encoding="utf-8")


def _make_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


if __name__ == "__main__":
    sys.exit(run_program("vocabularies", app))
