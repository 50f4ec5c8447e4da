"""Summaries of test runs, made of what Bazel, pytest and GoogleTest write."""

import json
import subprocess
import sys
import textwrap

import pytest

from compiler_gym.util.runfiles_path import runfiles_path

GTEST_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1">
  <testsuite name="SumTest">
    <testcase name="IsRight" status="run" result="completed" classname="SumTest" />
    <testcase name="IsLeft" status="notrun" result="suppressed" classname="SumTest" />
    <testcase name="IsWrong" status="run" result="completed" classname="SumTest">
      <failure message="SumTest.cc:7" type=""><![CDATA[SumTest.cc:7
Expected equality of these values:
  sum(1, 1)
    Which is: 3
  2]]></failure>
    </testcase>
  </testsuite>
</testsuites>
"""

# What Bazel writes for a program that has written nothing itself.
CRASH_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="CrashTest" tests="1" failures="0" errors="1">
    <testcase name="CrashTest"><error message="exited with error code 139"></error></testcase>
    <system-out>{}</system-out>
  </testsuite>
</testsuites>
"""


class Run:
    """A run of Bazel, as its event file tells of it."""

    def __init__(self, folder):
        self.folder = folder
        self.events = []

    def test(self, label, status, xml=None, seconds=1.0, shard=1, **more):
        outputs = []
        if xml:
            path = self.folder / f"{len(self.events)}.xml"
            path.write_text(xml)
            outputs.append({"name": "test.xml", "uri": path.as_uri()})
        result = {
            "status": status,
            "testAttemptDurationMillis": str(int(1000 * seconds)),
            "testActionOutput": outputs,
            **more,
        }
        key = {"label": label, "run": 1, "shard": shard, "attempt": 1}
        self.events.append({"id": {"testResult": key}, "testResult": result})
        summary = {"id": {"testSummary": {"label": label}}}
        self.events.append({**summary, "testSummary": {"overallStatus": status}})

    def interrupted(self, label):
        aborted = {"aborted": {"reason": "USER_INTERRUPTED"}}
        key = {"label": label, "run": 1, "shard": 1, "attempt": 1}
        self.events.append({"id": {"testResult": key}, **aborted})
        self.events.append({"id": {"testSummary": {"label": label}}, **aborted})

    def broken_build(self, label, message):
        path = self.folder / "stderr"
        path.write_text(message)
        failed = {"success": False, "stderr": {"name": "stderr", "uri": path.as_uri()}}
        self.events.append({"id": {"actionCompleted": {"label": label}}, "action": failed})
        self.events.append({"id": {"targetCompleted": {"label": label}}, "completed": {}})

    def summary(self, name="run"):
        path = self.folder / f"{name}.json"
        path.write_text("\n".join(map(json.dumps, self.events)))
        return path


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def summarise(*paths):
    program = [sys.executable, runfiles_path("tools/summarise_tests.py"), *map(str, paths)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=250)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def xml_of_pytest(folder, program):
    (folder / "some_test.py").write_text(textwrap.dedent(program))
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={folder}/some.xml"]
    command = [sys.executable, "-m", "pytest", *options, str(folder / "some_test.py")]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=250)
    return folder / "some.xml"


def test_a_run_that_did_not_start_is_a_failure(run, tmp_path):
    code, lines = summarise(tmp_path / "*.json")
    assert code == 1
    assert lines == [
        "no results: Bazel ended before the first test, for the reason above",
        "0 passed, 1 failed",
    ]


def test_functions_that_pass_are_counted(run, tmp_path):
    program = """
        import pytest
        def test_one(): pass
        @pytest.mark.skip
        def test_two(): pass
        @pytest.mark.parametrize("x", [1, 2])
        def test_three(x): pass
    """
    run.test("//a:a_test", "PASSED", xml_of_pytest(tmp_path, program).read_text(), 1.5)
    code, lines = summarise(run.summary())
    assert code == 0
    assert lines[-2:] == ["    1.5 s  //a:a_test", "3 passed, 0 failed"]


def test_failures_of_pytest_have_their_lines(run, tmp_path):
    program = """
        def test_sum():
            total = 1 + 1
            assert total == 3
        def test_good(): pass
    """
    run.test("//a:a_test", "FAILED", xml_of_pytest(tmp_path, program).read_text())
    code, lines = summarise(run.summary())
    assert code == 1
    (first,) = (i for i, line in enumerate(lines) if line.startswith("FAILED"))
    assert lines[first].startswith("FAILED //a:a_test ") and "test_sum" in lines[first]
    assert "    E   assert 2 == 3" in lines[first:-1]
    assert lines[-1] == "1 passed, 1 failed"
    # As tools/test_examples.sh calls it.
    assert summarise(tmp_path / "some.xml")[1][-1] == "1 passed, 1 failed"


def test_failures_of_all_kinds_have_their_lines(run):
    run.test("//a:SumTest", "FAILED", GTEST_XML)
    run.test("//a:CrashTest", "FAILED", CRASH_XML.format("\n".join(f"line {i}" for i in range(99))))
    run.test("//a:SlowTest", "TIMEOUT")
    run.broken_build("//a:BrokenTest", "Broken.cc:3: error: 'x' was not declared")
    code, lines = summarise(run.summary())
    assert code == 1
    text = "\n".join(lines)
    for failure in (
        "FAILED //a:SumTest SumTest.IsWrong\n    SumTest.cc:7\n"
        "    Expected equality of these values:\n      sum(1, 1)\n        Which is: 3\n      2\n",
        # The end of its output.
        "FAILED //a:CrashTest CrashTest\n    (69 lines before)\n    line 69\n    line 70\n",
        "FAILED //a:BrokenTest NO_BUILD\n    Broken.cc:3: error: 'x' was not declared\n",
        "FAILED //a:SlowTest TIMEOUT\n",
    ):
        assert failure in text
    assert lines[-1] == "1 passed, 4 failed"


def test_all_shards_count_and_the_last_attempt(run):
    run.test("//a:SumTest", "PASSED", GTEST_XML, shard=1)
    run.test("//a:SumTest", "PASSED", GTEST_XML, shard=2)
    run.test("//a:SumTest", "PASSED", GTEST_XML, shard=2)
    assert summarise(run.summary())[1][-1] == "2 passed, 2 failed"


def test_the_slowest_come_first_and_results_used_again_are_left_out(run):
    for number in range(12):
        run.test(f"//a:{number}", "PASSED", CRASH_XML.replace("error", "ok"), seconds=number)
    run.test("//a:local", "PASSED", seconds=100, cachedLocally=True)
    run.test("//a:remote", "PASSED", seconds=100, executionInfo={"cachedRemotely": True})
    code, lines = summarise(run.summary())
    assert code == 0
    assert lines[0] == "The 10 slowest of 12 targets that ran:"
    assert [line.split()[-1] for line in lines[1:-1]] == [f"//a:{i}" for i in range(11, 1, -1)]
