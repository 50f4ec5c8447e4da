"""``compiler-gym collect``."""

import pytest


@pytest.fixture(name="project")
def fixture_project(environment):
    folder = environment / "project"
    folder.mkdir()
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    (folder / "Makefile").write_text("main: main.o\n\t$(CC) -o $@ $^\n")
    return folder


def test_collect(run, project, environment):
    text = run("collect", "main", "--folder", project, "--", "make", "-s").stdout
    assert text == "main.bc is main, unoptimised: compiler-gym search main.bc\n"
    run("collect", "main", "-o", "other.bc", "--folder", project, "--", "make clean; make")
    counted = run("observe", "other.bc", "IrInstructionCount").stdout
    assert counted == run("observe", "main.bc", "IrInstructionCount").stdout
    done = run("collect", "main", "--folder", project, "--", "make", "nothing", code=1)
    assert "No rule to make target" in done.stderr
