"""Trains and judges the model of the plugin that makes one run of clang smaller."""

import json
import resource
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from compiler_gym.datasets import Benchmark
from compiler_gym.datasets.selection import opensource_package
from compiler_gym.tuning.changes.local_training import fit_mean
from compiler_gym.tuning.changes.one_run import END, START, WHOLE, Row
from compiler_gym.tuning.changes.training import WORTHWHILE, HeldOutRow
from compiler_gym.tuning.changes.trials import compilation_for_size
from compiler_gym.tuning.size.function_gains import rows_of
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.one_run import one_run_options
from compiler_gym.tuning.size.stack import STACK_OPTIONS, Stack, broken_promises, read_stack
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util.commands import run_command
from compiler_gym.util.statistics import geometric_mean

_TREES = {"max_iter": 40, "learning_rate": 0.08, "max_leaf_nodes": 8, "min_samples_leaf": 30}
# A byte of the table for unwinding counts less than a byte of code.
_UNWINDING = 0.15
_CLIP, _MOST_WEIGHT = 0.2, 0.3
_CLIP_OF_CALLS = 200
# How much worse an additional byte is than a saved one is good.
_LOSS = 2.0
# The least gain of a decision over all programs, for which the model keeps its trees: a share of
# the bytes, and a number of functions.
_LEAST_GAIN, _LEAST_USES = 2e-4, 30
_FOLDS = 4


@dataclass(frozen=True)
class Samples:
    """The samples of one decision.

    Attributes:
        features: The features of each.
        gains: float64 [samples], what is to be predicted.
        saved: float64 [samples], the saved bytes.
        weights: float64 [samples].
        groups: The package of each.
        programs: The number of the program of each, if one decision is for a whole program; empty
            for decisions about functions.
    """

    features: Sequence[Mapping[str, float]]
    gains: np.ndarray
    saved: np.ndarray
    weights: np.ndarray
    groups: Sequence[str]
    programs: Sequence[int] = ()


def train_one_run(
    rows: Sequence[Row], about: str = "", enough: tuple[float, float] = (0.0, 0.0)
) -> dict[str, Any]:
    """Trains the model of one target, as the plugin reads it.

    Args:
        rows: Rows of a table of trials.
        about: The model's description of its origin.
        enough: The least share of a program's code that all decisions before any pass, and all
            before machine code is generated, are expected to save.
    """
    total = sum(row["baseline"]["code"] for row in rows)
    kinds = {
        "start": {text: _of_functions(rows, "start", text) for text in START},
        "end": {text: _of_functions(rows, "end", text) for text in END},
        "whole": {text: _of_functions(rows, "end", text, is_whole=True) for text in WHOLE},
        "calls": {"inline": _of_calls(rows, True), "keep": _of_calls(rows, False)},
    }
    model: dict[str, Any] = {"about": about} | {
        kind: _choices(each, total) for kind, each in kinds.items()
    }
    for point, least in zip(("start", "end"), enough, strict=True):
        model[point]["enough"] = least
        # The trees know nothing about larger functions.
        sizes = [known["instructions"] for row in rows for known in row[point].values()]
        model[point]["most"] = max(sizes, default=1)
    return model


def _choices(samples: Mapping[str, Samples], total: int) -> dict[str, Any]:
    known = (features for each in samples.values() for features in each.features)
    names = tuple(sorted({name for features in known for name in features}))
    choices: list[dict[str, Any]] = []
    for text, each in samples.items():
        if len(each.features) < 2 * _LEAST_USES:
            continue
        values = rows_of(each.features, names)
        least, gain, uses = _threshold(each, values)
        if gain < _LEAST_GAIN * total or uses < _LEAST_USES:
            continue
        trees = fit_mean(values, each.gains, each.weights, _TREES)
        choices.append({"text": text, "least": least, **trees.as_facts()})
    used = sorted({index for choice in choices for index in _compared(choice)})
    for choice in choices:
        choice["features"] = [
            used.index(index) if index in used else 0 for index in choice["features"]
        ]
    return {"features": [names[index] for index in used], "choices": choices}


def _compared(trees: Mapping[str, Any]) -> list[int]:
    """Returns the features that trees compare. A leaf is its own left node, and compares none."""
    nodes = enumerate(zip(trees["features"], trees["left"], strict=True))
    return [feature for node, (feature, left) in nodes if left != node]


def _threshold(samples: Samples, values: np.ndarray) -> tuple[float, float, int]:
    """Returns the least prediction that is worth its risk, the bytes saved so, and the uses.

    The predictions are of trees that have not seen the package.
    """
    packages = sorted({*samples.groups})
    fold = np.array([packages.index(each) % _FOLDS for each in samples.groups])
    predicted = np.zeros(len(values))
    for number in range(_FOLDS):
        rest, mine = fold != number, fold == number
        if mine.any():
            fitted = fit_mean(values[rest], samples.gains[rest], samples.weights[rest], _TREES)
            predicted[mine] = fitted.predict(values[mine])
    every = samples.saved
    if samples.programs:
        predicted, every = _by_program(samples, predicted)
    order = np.argsort(-predicted, kind="stable")
    saved = every[order]
    worth = np.cumsum(np.where(saved < 0, _LOSS * saved, saved))
    count = int(np.argmax(worth)) + 1 if worth.max(initial=0) > 0 else 0
    if not count:
        return 0.0, 0.0, 0
    least = max(float(predicted[order][count - 1]), 0.0)
    uses = int((predicted > least).sum())
    return float(f"{least:.5g}"), float(every[predicted > least].sum()), uses


def _by_program(samples: Samples, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean prediction for the functions of each program, and the saved bytes."""
    sizes = np.array([each["instructions"] for each in samples.features])
    programs = np.array(samples.programs)
    sums = np.bincount(programs, sizes * predicted) / np.maximum(np.bincount(programs, sizes), 1)
    return sums, np.bincount(programs, samples.saved)


def _of_functions(rows: Sequence[Row], point: str, text: str, is_whole: bool = False) -> Samples:
    features, gains, saved, weights, groups, programs = [], [], [], [], [], []
    for index, row in enumerate(rows):
        before, found = row["functions"], row["adjustments"].get(text)
        if found is None:
            continue
        total = max(sum(size for size, _ in before.values()), 1)
        for name, known in row[point].items():
            size = before.get(name, (0, 0))[0]
            if size == 0:
                continue
            bytes_ = _saved(before[name], found.get(name, before[name]))
            features.append(known)
            saved.append(bytes_)
            gains.append(np.clip(bytes_ / size, -_CLIP, _CLIP))
            weights.append(min(size / total, _MOST_WEIGHT))
            groups.append(_group(row))
            programs.append(index)
    arrays = np.array(gains), np.array(saved), np.array(weights)
    return Samples(features, *arrays, groups, programs if is_whole else ())


def _of_calls(rows: Sequence[Row], inline: bool) -> Samples:
    features, gains, saved, weights, groups = [], [], [], [], []
    for row in rows:
        decisions = [each for each in row["decisions"] if each["inline"] == inline]
        for each in decisions:
            bytes_ = -(each["code"] + _UNWINDING * each["unwinding"])
            features.append(row["calls"][each["function"]])
            saved.append(float(np.clip(bytes_, -_CLIP_OF_CALLS, _CLIP_OF_CALLS)))
            gains.append(np.sign(saved[-1]) * np.sqrt(abs(saved[-1])))
            weights.append(max(len(decisions), 10) ** -0.5)
            groups.append(_group(row))
    arrays = np.array(gains), np.array(saved), np.array(weights)
    return Samples(features, *arrays, groups)


def _saved(before: Sequence[int], after: Sequence[int]) -> float:
    return before[0] - after[0] + _UNWINDING * (before[1] - after[1])


def _group(row: Row) -> str:
    program = row["program"]
    return opensource_package(program) if "//opensource-v0/" in program else "kernels"


# Results of the plugin on held-out programs.

_SECONDS = 600


@dataclass(frozen=True)
class OneRunRow(HeldOutRow):
    """The results of one run of clang on a program, each without and with the plugin.

    They are empty if it has too little or too much code.

    Attributes:
        code: Bytes of code.
        loaded: All bytes that are loaded.
        seconds: The least processor time that clang took.
        broken: The broken promises about the stack.
    """

    code: Sequence[int] = ()
    loaded: Sequence[int] = ()
    seconds: Sequence[float] = ()
    broken: Sequence[str] = ()

    @property
    @override
    def is_counted(self) -> bool:
        return bool(self.code)


def write_one_run(path: Path, target: str, model: Mapping[str, Any]) -> None:
    """Writes the model of a target."""
    # One line for each decision.
    lines = json.dumps({"target": target, **model}, separators=(",", ":"))
    path.write_text(lines.replace('{"text"', '\n{"text"') + "\n", encoding="utf-8")


def judged_one_run(
    benchmark: Benchmark,
    model: Path | None = None,
    runs: int = 1,
    options: tuple[str, ...] = (),
) -> OneRunRow:
    """Returns the results of clang on a program, without and with the plugin.

    Args:
        benchmark: The program.
        model: The model; that of the plugin by default.
        runs: How often clang is run. The least time counts.
        options: The options of clang that choose the target.

    Raises:
        BenchmarkInitError: If the program cannot be compiled.
        CommandError: If clang fails with the plugin.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        contents = benchmark.proto.program.contents
        command = compilation_for_size(contents, Path(name), options).command
        plugin = one_run_options(f"-oz-model={model}" if model else "")
        outputs = [Path(name) / "plain.o", Path(name) / "small.o"]
        commands = [command(outputs[0]), [*command(outputs[1]), *plugin]]
        run_command(commands[0], _SECONDS)
        before = read_object(outputs[0])
        if before.text not in WORTHWHILE:
            return OneRunRow(str(benchmark.uri))
        # In turns, as the speed of the machine may change.
        times = [[*map(_seconds_of, commands)] for _ in range(runs)]
        after, trial = read_object(outputs[1]), trial_linker(())
        loaded = [trial.size(each).loaded if trial else 0 for each in outputs]
        former, stack = map(_stack_of, commands, outputs)
        broken = broken_promises(former, stack) if former and stack else []
        why = [each.why for each in broken]
        seconds = [min(each) for each in zip(*times, strict=True)]
        return OneRunRow(str(benchmark.uri), [before.text, after.text], loaded, seconds, why)


def _seconds_of(command: Sequence[str]) -> float:
    """Runs a command. Returns the processor time that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run_command(command, _SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _stack_of(command: Sequence[str], output: Path) -> Stack | None:
    """Returns the stack of what a command of clang makes; None if the target is not known."""
    run_command([*command, *STACK_OPTIONS], _SECONDS)
    return read_stack(output)


def table_of_one_run(rows: Sequence[OneRunRow]) -> str:
    """Returns what the plugin saves, in Markdown."""
    kinds: Sequence[tuple[str, Callable[[OneRunRow], Sequence[float]]]] = (
        ("code", lambda row: row.code),
        ("loaded bytes", lambda row: row.loaded),
        ("time of clang", lambda row: row.seconds),
    )
    lines = [
        f"| {len(rows)} programs | total | mean | larger | largest growth |",
        "|---|---:|---:|---:|---:|",
    ]
    for kind, sizes in kinds:
        pairs = [sizes(row) for row in rows]
        total = 1 - sum(after for _, after in pairs) / sum(before for before, _ in pairs)
        ratios = [after / before for before, after in pairs]
        larger = sum(ratio > 1 for ratio in ratios)
        lines.append(
            f"| saved of {kind} | {total:.2%} | {1 - geometric_mean(ratios):.2%} | {larger} "
            f"| {max(0.0, max(ratios) - 1):.2%} |"
        )
    broken = sum(bool(row.broken) for row in rows)
    return "\n".join([*lines, "", f"The stack promise is broken in {broken} programs."])
