"""The services of this repository keep all rules."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from compiler_gym.compliance import Outcome, Result, Target, check, target_of_env
from compiler_gym.service.proto import Benchmark, File
from tests.effort import effort
from tests.service.toy_service import toy_service

# What cannot be checked: no action crashes, hangs or ends a session by design.
_FATAL = {
    "crash.status",
    "crash.others-live",
    "crash.session-is-lost",
    "hang.deadline",
    "hang.others-live",
    "hang.end",
    "hang.stop",
}
_ENDING = {"step.end-of-session", "step.stops-at-end", "fork.ended"}

# To add a service, add the id of one of its environments, and what cannot be checked for it.
SERVICES = {
    "llvm-v0": _FATAL | _ENDING,
    "gcc-v0": _FATAL | _ENDING,
    "mlir-v0": _FATAL | _ENDING,
    "examples.example_compiler_gym_service:example-cc-v0": _FATAL | _ENDING,
    "examples.example_compiler_gym_service:example-py-v0": _FATAL | _ENDING,
}

# Of the thousands of actions of some services, each of which is tried with a compiler of its own.
MAX_ACTIONS = effort(30, 1000)

# Programs instead of those of the environment, because actions on these are quick.
C_PROGRAMS = {
    "sum.c": """
        static int square(int n) { return n * n; }
        int sum(const int *numbers, int n) {
          int total = 0;
          for (int i = 0; i < n; i++) total += square(numbers[i]) + square(3);
          return total;
        }
    """,
    "max.c": "int max(int a, int b) { int both[] = {a, b}; return both[a < b]; }",
}
PROGRAMS = {"llvm-v0": C_PROGRAMS, "gcc-v0": C_PROGRAMS}


def write_programs(id: str, folder: Path) -> list[str]:
    paths = []
    for name, text in PROGRAMS.get(id, {}).items():
        (folder / name).write_text(text)
        paths.append(str(folder / name))
    return paths


@pytest.fixture(scope="module", name="results")
def fixture_results(tmp_path_factory):
    """A future for each check: its results. Several run at a time, as they wait for services."""
    pool = ThreadPoolExecutor(3)
    checks = {
        id: partial(check_service, id, tmp_path_factory.mktemp("programs")) for id in SERVICES
    }
    checks["toy"] = check_toy
    checks["crashes"] = partial(check_crashes_of_llvm, tmp_path_factory.mktemp("crashes"))
    yield {name: pool.submit(function) for name, function in checks.items()}
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("id", SERVICES)
def test_service(id, results):
    keeps_rules(results[id].result(), SERVICES[id])


def check_service(id, folder):
    target = target_of_env(id, write_programs(id, folder))
    return [*check(target, max_actions=MAX_ACTIONS)]


def test_crashes_of_llvm(results):
    assert [result.outcome for result in results["crashes"].result()] == [Outcome.OK] * 3


def check_crashes_of_llvm(folder):
    policy = folder / "policy.yaml"
    policy.write_text("exclude: []\n")
    target = target_of_env(
        "llvm-v0",
        write_programs("llvm-v0", folder),
        arguments=[f"--action_policy={policy}"],
        crash_action="trigger-crash-module",
    )
    return [*check(target, ["crash."])]


def test_services_that_crash_and_hang(results):
    keeps_rules(results["toy"].result(), {"benchmark.malformed", "rewards.observations"})


def check_toy():
    """Checks the toy service, which has actions for everything that can go wrong."""
    target = Target(
        toy_service(),
        [
            Benchmark(uri=f"benchmark://toy-v0/{text}", program=File(contents=text.encode()))
            for text in ("hello", "world")
        ],
        arguments=["--session_memory_mib=300"],  # One of them wants all memory there is.
        crash_action="crash",
        hang_action="hang",
    )
    return [*check(target, max_actions=MAX_ACTIONS)]


def keeps_rules(results: list[Result], not_checked: set[str]) -> None:
    texts = {result.rule.id: result.text for result in results}
    by_outcome = {
        outcome: {result.rule.id for result in results if result.outcome is outcome}
        for outcome in Outcome
    }
    assert {rule: texts[rule] for rule in by_outcome[Outcome.FAILED]} == {}
    assert by_outcome[Outcome.NOT_CHECKED] == not_checked
