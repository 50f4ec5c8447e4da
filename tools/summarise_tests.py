"""Counts the test functions of a `bazel test` run from its build event file, or of an XML file.

Prints the names of those that failed and, last, "N passed, N failed". A target that failed
without saying which function (a crash, a time-out, a failed build) counts as one failure.
Exits with 1 if anything failed or nothing ran.
"""

import json
import sys
import urllib.parse
from pathlib import Path
from xml.etree import ElementTree


def read_results(path: str) -> dict[str, tuple[str, Path | None]]:
    """The status and the XML file of each test target."""
    if path.endswith(".xml"):
        return {path: ("PASSED", Path(path))}
    results = {}
    for line in Path(path).read_text().splitlines():
        event = json.loads(line)
        if "testResult" in event.get("id", {}):
            outputs = event["testResult"].get("testActionOutput", [])
            uri = next((out["uri"] for out in outputs if out["name"] == "test.xml"), None)
            xml = Path(urllib.parse.unquote(urllib.parse.urlparse(uri).path)) if uri else None
            results[event["id"]["testResult"]["label"]] = (event["testResult"]["status"], xml)
        elif "testSummary" in event.get("id", {}):
            label = event["id"]["testSummary"]["label"]
            results.setdefault(label, (event["testSummary"]["overallStatus"], None))
        elif "targetCompleted" in event.get("id", {}) and not event.get("completed", {}).get(
            "success"
        ):
            results.setdefault(event["id"]["targetCompleted"]["label"], ("NO_BUILD", None))
    return results


def count(status: str, xml: Path | None) -> tuple[int, list[str]]:
    """How many functions of a target passed, and the names of those that failed."""
    passed, failed = 0, []
    if xml and xml.exists():
        for case in ElementTree.parse(xml).getroot().iter("testcase"):
            name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif case.find("skipped") is None and case.get("status") != "notrun":
                passed += 1
    if status != "PASSED" and not failed:
        failed.append(status)
    return passed, failed


def main() -> int:
    passed = 0
    failures = []
    for label, (status, xml) in sorted(read_results(sys.argv[1]).items()):
        target_passed, target_failed = count(status, xml)
        passed += target_passed
        failures += [f"{label} {name}" for name in target_failed]
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
