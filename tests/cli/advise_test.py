"""``compiler-gym advise``, as its users run it."""

import json
import os
import re

SOURCE = """
int table[100] = {1};
int unused(int x) { return table[x]; }
int main(int n, char **p) { return n * 7 / 3; }
"""


def test_advice(run, environment):
    (environment / "main.c").write_text(SOURCE)
    done = run("advise", "main.c")
    assert re.match(r"The program that clang -Oz makes loads \d+ bytes\.\n", done.stdout)
    assert re.search(
        r"^-ffunction-sections -fdata-sections -Wl,--gc-sections\n  Saves \d+ bytes, [\d.]+%\.\n"
        r"  Risk: What only linker scripts",
        done.stdout,
        re.M,
    )
    found = json.loads(run("advise", "main.c", "--json", "-l", "m", "--", "-O2").stdout)
    assert found["kind"] == "program" and found["size"]["loaded"] > 400
    saved = [each["saved"] for each in found["advice"]]
    assert len(saved) == 7 and saved == sorted(saved, reverse=True)
    for each in found["advice"]:
        assert each["saved"] == each["before"]["loaded"] - each["after"]["loaded"]
    assert os.listdir() == ["main.c"]


def test_a_program_that_does_not_link(run, environment):
    (environment / "part.c").write_text("int g(void);\nint main(void) { return g(); }\n")
    assert "undefined reference to `g'" in run("advise", "part.c", code=1).stderr
