"""Summarises `bazel test` runs, given their build event files or XML files of test results.

Prints the ten slowest targets, then each failure with its own lines, and last
"N passed, N failed", which counts test functions. A target that failed without saying which
function (a crash, a time-out, a failed build) counts as one failure. Exits with 1 if anything
failed or nothing ran.
"""

import json
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

SLOWEST = 10
MAX_LINES = 30
"""Of one failure: the last ones."""


@dataclass
class Failure:
    name: str
    text: str

    def __str__(self) -> str:
        lines = self.text.strip().splitlines()
        left_out = [f"({len(lines) - MAX_LINES} lines before)"] if len(lines) > MAX_LINES else []
        shown = left_out + lines[-MAX_LINES:]
        return "\n".join([f"FAILED {self.name}", *(f"    {line}".rstrip() for line in shown)])


@dataclass
class Result:
    """One run of a target, or of one of its shards.

    Attributes:
        seconds: None if an earlier run's result was used again.
        xml: The file with the results of the functions.
        text: Output that explains a failure when there is no such file.
    """

    label: str
    status: str
    seconds: float | None = None
    xml: Path | None = None
    text: str = ""
    passed: int = 0
    failures: list[Failure] = field(default_factory=list)

    def read_functions(self) -> None:
        output = self.text
        if self.xml and self.xml.exists():
            root = ElementTree.parse(self.xml).getroot()
            output = "\n".join(each.text or "" for each in root.iter("system-out"))
            for case in root.iter("testcase"):
                self._read_function(case, output)
        if self.status != "PASSED" and not self.failures:
            self.failures.append(Failure(f"{self.label} {self.status}", output))

    def _read_function(self, case: ElementTree.Element, output: str) -> None:
        name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
        problems = [*case.iter("failure"), *case.iter("error")]
        if problems:
            # Bazel writes a file itself for a program that crashed, with all of its output.
            text = "\n".join(each.text or output or each.get("message", "") for each in problems)
            self.failures.append(Failure(f"{self.label} {name}", text))
        elif case.find("skipped") is None and case.get("status") != "notrun":
            self.passed += 1


def read_results(path: Path) -> list[Result]:
    """Reads an XML file, or the file that --build_event_json_file of Bazel names."""
    if path.suffix == ".xml":
        return [Result(str(path), "PASSED", xml=path)]
    events = [json.loads(line) for line in path.read_text().splitlines()]
    results = [*_tests_that_ran(events)]
    known = {result.label for result in results}
    errors = _build_errors(events)
    for event in events:
        if "testSummary" in event["id"]:
            label = event["id"]["testSummary"]["label"]
            status = event.get("testSummary", {}).get("overallStatus", "INTERRUPTED")
        elif "targetCompleted" in event["id"] and not event.get("completed", {}).get("success"):
            label, status = event["id"]["targetCompleted"]["label"], "NO_BUILD"
        else:
            continue
        if label not in known:
            known.add(label)
            results.append(Result(label, status, text=errors.get(label, "")))
    return results


def _tests_that_ran(events: list[dict]) -> Iterator[Result]:
    """The last attempt of each shard."""
    last = {}
    for event in events:
        if key := event["id"].get("testResult"):
            # After Ctrl-C a test that was at work has no result.
            result = event.get("testResult", {"status": "INTERRUPTED"})
            last[key["label"], key.get("shard"), key.get("run")] = result
    for (label, *_), result in last.items():
        files = {each["name"]: _path(each) for each in result.get("testActionOutput", [])}
        is_cached = result.get("cachedLocally") or result.get("executionInfo", {}).get(
            "cachedRemotely"
        )
        seconds = None if is_cached else int(result.get("testAttemptDurationMillis", 0)) / 1000
        yield Result(label, result["status"], seconds, files.get("test.xml"))


def _build_errors(events: list[dict]) -> dict[str, str]:
    """Returns the output of failed build actions by target."""
    errors = {}
    for event in events:
        if key := event["id"].get("actionCompleted"):
            stderr = event.get("action", {}).get("stderr", {})
            if path := _path(stderr):
                errors[key.get("label", "")] = path.read_text(errors="replace")
    return errors


def _path(file: dict) -> Path | None:
    uri = urllib.parse.urlparse(file.get("uri", ""))
    path = Path(urllib.parse.unquote(uri.path))
    return path if uri.scheme == "file" and path.exists() else None


def print_slowest(results: list[Result]) -> None:
    ran = [result for result in results if result.seconds is not None]
    print(f"The {SLOWEST} slowest of {len(ran)} targets that ran:")
    for result in sorted(ran, key=lambda result: -result.seconds)[:SLOWEST]:
        print(f"{result.seconds:7.1f} s  {result.label}")


def main(*paths: str) -> int:
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        print("no results: Bazel ended before the first test, for the reason above")
    results = []
    for path in (Path(path) for path in paths if path not in missing):
        for result in sorted(read_results(path), key=lambda result: result.label):
            if len(paths) > 1:  # Each is named after what it was run with.
                result.label = f"{path.stem}: {result.label}"
            result.read_functions()
            results.append(result)
    failures = [failure for result in results for failure in result.failures]
    passed = sum(result.passed for result in results)
    if any(result.seconds for result in results):
        print_slowest(results)
    for failure in failures:
        print(failure)
    print(f"{passed} passed, {len(failures) + len(missing)} failed")
    return 1 if failures or missing or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
