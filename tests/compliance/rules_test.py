"""Tests of properties of all rules, and of services with few known settings."""

import re
import textwrap
from pathlib import Path

import pytest

from compiler_gym.compliance import (
    RULES,
    Outcome,
    Rule,
    Target,
    benchmark_of,
    benchmarks_of_dataset,
    check,
    select,
    target_of_env,
)
from compiler_gym.compliance import subject as module_of_subject
from compiler_gym.compliance.rule import Clock, require, rule
from compiler_gym.compliance.runner import check_rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.target import ServiceProcess
from compiler_gym.compliance.values import mismatch
from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.service.proto import (
    DoubleTensor,
    Event,
    FloatTensor,
    Int64Box,
    Int64Range,
    Int64Tensor,
    ObservationSpace,
    Space,
)
from tests.compliance.breakable import breakable, number
from tests.processes import is_running, wait_until


def test_rules_can_be_told_apart():
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids) > 80
    assert all(re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", id) for id in ids)
    themes = [rule.theme for rule in RULES]
    # The rules of a theme are next to each other.
    assert len(list(dict.fromkeys(themes))) == sum(
        1 for i, theme in enumerate(themes) if i == 0 or themes[i - 1] != theme
    )


def test_select():
    assert select([]) == list(RULES)
    assert {rule.theme for rule in select(["fork."])} == {"fork"}
    assert len(select(["fork.exact", "end.others"])) == 2
    with pytest.raises(LookupError, match=r"no-such-rule.*lease"):
        select(["no-such-rule"])


def test_rules_that_need_a_program_are_skipped():
    results = {result.rule.id: result for result in check(breakable(benchmarks=[]))}
    assert not [each for each in results.values() if each.outcome is Outcome.FAILED]
    for theme in ("step", "fork", "end", "concurrent", "crash", "observations", "rewards"):
        for id, result in results.items():
            if id.startswith(f"{theme}.") and id != "rewards.observations":
                assert result.outcome is Outcome.NOT_CHECKED, id
                assert "no program is known" in result.text or "HoldLease" in result.text
    assert results["process.exit-0"].outcome is Outcome.OK


def test_unknown_facts_are_not_checked():
    target = breakable(benchmarks=[number(3)], crash_action=None, hang_action="no", rewards=None)
    patterns = ["benchmark.replaced", "crash.status", "hang.deadline", "rewards."]
    texts = [result.text for result in check(target, patterns)]
    assert texts == [
        "only one program is known: give a second --benchmark",
        "rewards are of environments: name one with --env",
        "no action is known that does so: name one with --crash-action",
        "there is no action 'no', which --hang-action names",
    ]


def test_a_service_that_does_not_start():
    results = list(check(breakable("process.starts")))
    assert [result.outcome for result in results[:1]] == [Outcome.FAILED]
    assert "exited with code 3" in results[0].text
    assert {result.outcome for result in results[1:]} == {Outcome.NOT_CHECKED}
    (result,) = check(breakable("process.starts"), ["fork.exact"])
    assert "does not start (process.starts): the service exited with code 3" in result.text


def test_a_rule_that_takes_too_long():
    (rule,) = select(["lease.killed-client"])
    subject = Subject(breakable(rule.id), time_limit=2)
    try:
        result = check_rule(rule, subject)
    finally:
        subject.give_up()
    assert result.outcome is Outcome.FAILED
    assert "longer than the 2 seconds of --time-limit" in result.text


def test_a_request_that_takes_the_rest_of_the_time():
    def check(subject):
        while subject.clock.elapsed() < 0.01:
            pass
        require(False, "HoldLease answers DEADLINE_EXCEEDED")

    result = check_rule(rule("lease.slow", "", "")(check), Subject(breakable(), time_limit=0.01))
    limit = "it takes longer than the 0.01 seconds of --time-limit"
    assert result.text == f"{limit}: HoldLease answers DEADLINE_EXCEEDED"


def test_descendants_that_end_while_they_are_looked_for():
    script = "while :; do (:) | (:) | (:); done"
    target = Target(service=Path("/bin/sh"), arguments=["-c", script])
    with ServiceProcess(target, Clock(60), pass_directory=False) as process:
        wait_until(process.descendants)
        for _ in range(1000):
            process.descendants()


OWN = """
import os, sys
from tests.compliance.breakable_program import run_program
from tests.compliance.breakable_service import BreakableService

class Own(BreakableService):
{methods}
sys.exit(run_program(Own))
"""


def own_service(folder: Path, methods: str, **known) -> Target:
    """The breakable service with other methods."""
    program = folder / "own_service.py"
    program.write_text(OWN.format(methods=textwrap.indent(textwrap.dedent(methods), "    ")))
    return breakable(service=program, **known)


def test_a_service_that_ends_is_started_again(tmp_path):
    methods = """
        def ForkSession(self, request, context):
            os._exit(7)
    """
    target = own_service(tmp_path, methods)
    for other in ("end.others", "lease.numbers"):
        results = {each.rule.id: each for each in check(target, ["fork.exact", other])}
        assert results["fork.exact"].outcome is Outcome.FAILED
        assert results[other].outcome is Outcome.OK


def test_unforeseen_answers():
    def fails(subject):
        raise ZeroDivisionError("this happens")

    result = check_rule(Rule("x.y", "", "", fails), Subject(breakable()))
    assert result.outcome is Outcome.FAILED
    assert result.text == "unexpected ZeroDivisionError: this happens"


@pytest.mark.parametrize("refusals, outcome", [(1, Outcome.OK), (1000, Outcome.FAILED)])
def test_a_port_that_another_program_has_taken(tmp_path, refusals, outcome):
    log = tmp_path / "log"
    methods = f"""
        if "--port=" in str(sys.argv):
            with open({str(log)!r}, "a+") as log:
                log.write("x")
                log.seek(0)
                if len(log.read()) <= {refusals}:
                    sys.exit("Address already in use")
    """
    (result,) = check(own_service(tmp_path, methods), ["process.port"])
    assert result.outcome is outcome
    assert ("Address already in use" in result.text) == (outcome is Outcome.FAILED)
    assert len(log.read_text()) > 1


def test_too_few_observations(tmp_path, monkeypatch):
    # On a busy machine, the second observation would count as slow, and not be asked for.
    monkeypatch.setattr(module_of_subject, "_STATE_SECONDS", 60)
    methods = """
        def observe(self, session, numbers, is_quiet=False):
            return super().observe(session, numbers, is_quiet)[:1]
    """
    wanted = ["fork.exact", "observations.in-space", "step.observations", "step.no-effect"]
    for result in check(own_service(tmp_path, methods), wanted):
        assert result.outcome is Outcome.FAILED, result
        assert "observations were asked for, 1 came" in result.text


def test_an_action_that_ends_the_service(tmp_path):
    methods = """
        def crash(self, session):
            os._exit(7)
    """
    target = own_service(tmp_path, methods, crash_action=None)
    (result,) = check(target, ["step.accepts"])
    assert result.text.startswith("the action crash has ended the service; if it is there for")


def test_abandoned_check_cleans_up():
    checking = check(breakable())
    next(checking)
    subject = Subject(breakable())
    service = subject.service.process
    processes = [service.pid, *service.descendants()]
    folder = service.directory.parent
    assert len(processes) > 1 and folder.exists()
    subject.give_up()
    checking.close()
    wait_until(lambda: not any(map(is_running, processes)))
    assert not folder.exists()


class Numbers(Dataset):
    def __init__(self):
        super().__init__("benchmark://numbers-v0", "Numbers", "MIT")

    def benchmark_uris(self):
        return (f"{self.name}/{value}" for value in range(100))

    def benchmark_from_parsed_uri(self, uri):
        return Benchmark.from_file_contents(str(uri), uri.path.strip("/").encode())


def test_programs_for_an_env(tmp_path):
    """Its own: services_test.py."""
    (tmp_path / "program.txt").write_text("add 1\n")
    programs = ["benchmark://example-compiler-v0/bar", str(tmp_path / "program.txt")]
    target = target_of_env("examples.example_compiler_gym_service:example-py-v0", programs)
    assert [each.program.contents[:5] for each in target.benchmarks] == [b"mul 3", b"add 1"]
    with pytest.raises(LookupError, match="no-such-env-v0"):
        target_of_env("no-such-env-v0")


def test_programs(tmp_path):
    path = tmp_path / "program.txt"
    path.write_text("7")
    benchmark = benchmark_of(str(path))
    assert (benchmark.uri, benchmark.program.contents) == (f"file://{path}", b"7")
    assert benchmark_of(f"file://{path}") == benchmark
    assert not benchmark_of("benchmark://a-v0/b").HasField("program")
    with pytest.raises(FileNotFoundError, match="--benchmark"):
        benchmark_of(str(tmp_path / "nothing"))
    name = f"{__name__}:Numbers"
    found = benchmarks_of_dataset(name)
    assert [each.program.contents for each in found] == [b"0", b"1"]
    for wrong in ("no_such_module:Numbers", f"{__name__}:Nothing", "Numbers"):
        with pytest.raises(ValueError, match="MODULE:CLASS"):
            benchmarks_of_dataset(wrong)


SHAPES = Space(
    int64_box=Int64Box(
        low=Int64Tensor(shape=[2], value=[0, 0]), high=Int64Tensor(shape=[2], value=[9, 9])
    )
)


@pytest.mark.parametrize(
    ("space", "event", "reason"),
    [
        (Space(int64_value=Int64Range(min=0)), Event(int64_value=0), None),
        (Space(int64_value=Int64Range(min=0)), Event(int64_value=-1), "it is -1"),
        (Space(int64_value=Int64Range()), Event(double_value=1), "double_value, not a int64_value"),
        (Space(int64_value=Int64Range()), Event(), "that is not set, not a int64_value"),
        (SHAPES, Event(int64_tensor=Int64Tensor(shape=[2], value=[0, 9])), None),
        (SHAPES, Event(int64_tensor=Int64Tensor(shape=[2], value=[0, 10])), "it is"),
        (SHAPES, Event(int64_tensor=Int64Tensor(shape=[3], value=[0, 1, 2])), "it is"),
        (SHAPES, Event(int64_tensor=Int64Tensor(shape=[3], value=[0])), "cannot be read"),
        (SHAPES, Event(float_tensor=FloatTensor(shape=[2], value=[0, 1])), "not a int64_tensor"),
        (SHAPES, Event(double_tensor=DoubleTensor()), "not a int64_tensor"),
    ],
)
def test_mismatch(space, event, reason):
    found = mismatch(ObservationSpace(name="x", space=space), event)
    assert (found is None) == (reason is None)
    assert reason is None or reason in found
