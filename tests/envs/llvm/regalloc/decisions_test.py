"""Decisions of the register allocator in files, and in a stock clang."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs.llvm.regalloc.channel import OtherQuestionsError, compile_with_decisions
from compiler_gym.envs.llvm.regalloc.decisions import (
    NONE,
    EvictionDecision,
    PriorityDecision,
    UnitDecisions,
    decisions_for,
    read_decisions,
    write_decisions,
)
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError
from tests.envs.llvm.game_program import SOURCE, game_program


@pytest.fixture(scope="module", name="episode")
def fixture_episode(tmp_path_factory):
    """An episode of random answers: its folder with object file and input, and its decisions."""
    folder = tmp_path_factory.mktemp("episode")
    with compiler_gym.make("llvm-regalloc-v0", benchmark=game_program()) as env:
        try:
            env.reset()
        except NotImplementedError as error:  # An LLVM before 22.
            pytest.skip(str(error))
        rng = np.random.default_rng(1)
        for _ in range(12):
            env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        assert env.observation["ObjectTextSizeBytes"] != env.observation["ObjectTextSizeOz"]
        env.write_object(folder / "episode.o")
        env.write_input(folder / "program.bc")
        decisions = env.decisions("llvm/mixing.c")
        evictions = env.observation["Evictions"]
    assert not decisions.is_about_priorities
    made = [each.chosen for answers in decisions.functions.values() for each in answers]
    assert made == evictions["chosen"].tolist()
    return folder, decisions


@pytest.fixture(name="cc")
def fixture_cc(tmp_path, monkeypatch):
    """Runs compiler-gym-cc, and returns the object file, the line of its log, and stderr."""
    monkeypatch.setenv("COMPILER_GYM_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    script = "from compiler_gym.cli.compiler_wrapper import cc; cc()"

    def cc(*words, policy):
        output = tmp_path / "unit.o"
        command = [sys.executable, "-c", script, f"--policy=regalloc={policy}", "-Oz", "-c"]
        command += [*map(str, words), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        return output, (tmp_path / "log").read_text().splitlines()[-1].split("\t"), done.stderr

    return cc


def test_files_are_read_as_written(tmp_path):
    first = UnitDecisions(
        "a/b.c",
        {
            "f": (
                EvictionDecision(3, (0, 1, 3, NONE), False),
                EvictionDecision(NONE, (2, NONE), True),
            ),
            "g": (),
        },
    )
    second = UnitDecisions(
        "c.c", {"f": (PriorityDecision(12, 240, False), PriorityDecision(0, 16, True))}
    )
    assert second.is_about_priorities
    assert not first.is_about_priorities
    path = tmp_path / "decisions"
    write_decisions(path, [first, second], "two units")
    assert path.read_text().splitlines()[:5] == [
        "# two units",
        "unit a/b.c",
        "function f",
        "candidate-3 of 0 1 3 none",
        "none of 2 none (default)",
    ]
    assert path.read_text().splitlines()[-2:] == [
        "priority 12 of size 240",
        "priority 0 of size 16 (default)",
    ]
    assert read_decisions(path) == [first, second]
    assert first.is_for("/somewhere/a/b.c")
    assert not first.is_for("/somewhere/b.c")


def test_the_most_exact_name_of_a_source_counts(tmp_path):
    units = [UnitDecisions(name, {}) for name in ("b.c", "src/a/b.c", "a/b.c")]
    path = tmp_path / "decisions"
    write_decisions(path, units, "one source in three folders")
    for source, expected in (("b.c", 0), ("/src/a/b.c", 1), ("/a/b.c", 2)):
        assert decisions_for(path, source) == units[expected]
    assert decisions_for(path, "c.c") is None


@pytest.mark.parametrize(
    "text",
    [
        "function f",
        "unit a\nnone of none",
        "unit a\nfunction f\ncandidate-2 of 0 1",
        "unit a\nfunction f\npriority first of size 16",
        "unit",
    ],
)
def test_wrong_lines_are_named(tmp_path, text):
    path = tmp_path / "decisions"
    path.write_text(text)
    number, line = len(text.splitlines()), text.splitlines()[-1]
    with pytest.raises(ValueError, match=f"decisions:{number}:.*'{line}'"):
        read_decisions(path)


def test_a_unit_has_decisions_of_one_kind(tmp_path):
    path = tmp_path / "decisions"
    path.write_text("unit a\nfunction f\nnone of 2 none\nfunction g\npriority 0 of size 16\n")
    with pytest.raises(ValueError, match="decisions:5:"):
        read_decisions(path)


def test_a_build_has_the_bytes_of_the_episode(episode, tmp_path, cc):
    folder, decisions = episode
    path = tmp_path / "decisions"
    write_decisions(path, [UnitDecisions("mixing.c", {}), decisions], "an episode")
    unit, log, stderr = cc(SOURCE, "-std=c11", "-w", policy=path.name)
    count = sum(map(len, decisions.functions.values()))
    assert (log[0], log[-1], stderr) == ("regalloc", f"{count} decisions of {path}", "")
    plain = tmp_path / "plain.o"
    subprocess.run([llvm_tools.clang_path(), "-Oz", "-c", SOURCE, "-w", "-o", plain], check=True)
    assert read_object(unit).code == read_object(folder / "episode.o").code
    assert read_object(unit).code != read_object(plain).code


def stock_clang(folder, output):
    """The command that makes what an episode's program becomes by LLVM's register allocator."""
    options = ["-Oz", "-Xclang", "-disable-llvm-passes", "-fno-addrsig"]
    return [llvm_tools.clang_path(), *options, "-c", folder / "program.bc", "-o", output]


def test_a_stock_clang_makes_the_object_file_of_the_episode(episode, tmp_path):
    folder, decisions = episode
    command = stock_clang(folder, tmp_path / "stock.o")
    compile_with_decisions(command, decisions)
    assert (tmp_path / "stock.o").read_bytes() == (folder / "episode.o").read_bytes()
    with pytest.raises(CommandError, match="no-such-option"):
        compile_with_decisions([*command, "--no-such-option"], decisions)


@pytest.fixture(scope="module", name="priorities")
def fixture_priorities(tmp_path_factory):
    """An episode of random priorities in one function: its folder and decisions."""
    folder = tmp_path_factory.mktemp("priorities")
    spaces = {"benchmark": game_program(), "action_space": "Priorities"}
    with compiler_gym.make("llvm-regalloc-v0", **spaces) as env:
        try:
            env.reset()
        except NotImplementedError as error:  # An LLVM before 22.
            pytest.skip(str(error))
        [(name, _)] = Counter(env.observation["Priorities"]["function"]).most_common(1)
        size = env.observation["ObjectTextSizeBytes"]
    with compiler_gym.make("llvm-regalloc-v0", **spaces, function=name) as env:
        env.reset()
        env.multistep(np.random.default_rng(1).integers(0, 5, size=12).tolist())
        assert env.observation["ObjectTextSizeBytes"] != size
        env.write_object(folder / "episode.o")
        env.write_input(folder / "program.bc")
        decisions = env.decisions("llvm/mixing.c")
    assert len(decisions.functions) > 1
    assert not all(each.is_default for each in decisions.functions[name])
    for other in decisions.functions.keys() - {name}:
        assert all(each.is_default for each in decisions.functions[other])
    return folder, decisions


def test_a_stock_clang_repeats_priorities(priorities, tmp_path, cc):
    folder, decisions = priorities
    compile_with_decisions(stock_clang(folder, tmp_path / "stock.o"), decisions)
    assert (tmp_path / "stock.o").read_bytes() == (folder / "episode.o").read_bytes()
    path = tmp_path / "decisions"
    write_decisions(path, [decisions], "an episode")
    unit, log, stderr = cc(SOURCE, "-std=c11", "-w", policy=path)
    assert (log[0], stderr) == ("regalloc", "")
    assert read_object(unit).code == read_object(folder / "episode.o").code


def test_other_questions_about_priorities_are_errors(priorities, tmp_path):
    folder, decisions = priorities
    name, answers = next(iter(decisions.functions.items()))
    other = replace(answers[0], size=answers[0].size + 1)
    changed = replace(decisions, functions={**decisions.functions, name: (other, *answers[1:])})
    with pytest.raises(OtherQuestionsError, match=f"question 0 about {name}"):
        compile_with_decisions(stock_clang(folder, tmp_path / "other.o"), changed)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda answers: answers[:-1], "expected no question {last} about {name}, got one"),
        (lambda answers: (*answers, answers[0]), "expected {more} questions about {name}, got"),
        (
            lambda answers: (EvictionDecision(NONE, (NONE,), False), *answers[1:]),
            "question 0 about {name}: expected the candidates 32, got ",
        ),
    ],
)
def test_clang_allocates_by_itself_if_it_asks_other_questions(episode, tmp_path, cc, change, why):
    _, decisions = episode
    name, answers = next(iter(decisions.functions.items()))
    why = why.format(name=name, last=len(answers) - 1, more=len(answers) + 1)
    other = UnitDecisions(decisions.unit, {**decisions.functions, name: change(answers)})
    path = tmp_path / "decisions"
    write_decisions(path, [other], "other questions")
    with pytest.raises(OtherQuestionsError, match=why):
        command = [llvm_tools.clang_path(), "-Oz", "-w", "-c", SOURCE, "-o", tmp_path / "other.o"]
        compile_with_decisions(command, other)
    unit, log, stderr = cc(SOURCE, "-std=c11", "-w", policy=path)
    assert log[0] == "clang"
    assert why in log[-1]
    assert stderr.startswith(f"compiler-gym: warning: regalloc: clang allocates {SOURCE} by itself")
    plain = tmp_path / "plain.o"
    command = [llvm_tools.clang_path(), "-Oz", "-c", SOURCE, "-std=c11", "-w", "-o", plain]
    subprocess.run(command, check=True)
    assert unit.read_bytes() == plain.read_bytes()


def test_units_without_decisions_are_those_of_clang(tmp_path, cc):
    path = tmp_path / "decisions"
    write_decisions(path, [UnitDecisions("other.c", {})], "another unit")
    (tmp_path / "unit.c").write_text("int f(int x) { return x + 1; }")
    _, log, stderr = cc("unit.c", policy=path)
    assert (log[0], stderr) == ("clang", "")
    assert log[-1] == f"regalloc: {path} has no decisions for unit.c"
