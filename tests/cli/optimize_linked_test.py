"""``compiler-gym optimize --objective linked``: short searches for smaller programs."""

import json
import re


def test_a_linked_program_becomes_smaller(run, environment):
    words = ("--objective", "linked", "--evaluations", "2", "--html", "page.html")
    done = run("optimize", "sorting", *words)
    said = r"sorting\.o: (\d+) bytes linked, [1-9][\d.]*% smaller than the (\d+)"
    after, before = map(int, re.match(said, done.stdout).groups())
    page = (environment / "page.html").read_text(encoding="utf-8")
    assert f">Before: {before:,} bytes<" in page and f">After: {after:,} bytes<" in page
    assert re.search(r"^Linked and stripped, the program's file has \d+ bytes", done.stdout, re.M)
    assert "Checked: it passes the check." in done.stdout


def test_parts_of_a_linked_program(run, environment):
    (environment / "main.c").write_text("int f(int);\nint main(int n, char** v) { return f(n); }\n")
    (environment / "f.c").write_text(
        "int f(int n) { int s = 0; while (n-- > 0) s += n * s ^ 5; return s; }\n"
    )
    parts = ("optimize", "main.c", "f.c", "--objective", "linked", "--evaluations", "2")
    done = run(*parts, "-o", "made", "--link", "clang-22 {} -static-pie -o $PROGRAM")
    than = r"(as many as those|[\d.]+% less than the \d+) of clang -Oz\."
    assert re.search(rf"^The program has \d+ bytes of text and data, {than}$", done.stdout, re.M)
    first, last = json.loads(run(*parts, "-o", "made", "--json").stdout)
    assert first["linked"]["after"] == last["linked"]["before"]
    assert last["linked"]["after"]["loaded"] <= first["linked"]["before"]["loaded"]
    assert "undefined" in run("optimize", "main.c", "--objective", "linked", code=1).stderr
