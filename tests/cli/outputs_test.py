"""Outputs of commands that would take the place of their programs."""

import pytest


@pytest.mark.parametrize(
    "words",
    [
        "search a.bc -o . --tries 5",
        "search a.input.bc --output . --tries 5",
        "search file://{folder}/a.bc -o . --tries 5",
        "replay -p a.bc sroa --write ./a.bc",
        "replay -p file://{folder}/a.bc sroa --write a.bc",
        "collect a.bc -o a.bc -- false",
    ],
)
def test_a_program_stays_as_it_is(run, environment, words):
    for name in ("a.bc", "a.input.bc"):
        (environment / name).write_text("a program")
    failed = run(*words.format(folder=environment).split(), code=2).stderr
    assert "is a program or another output" in failed
    assert {each.name: each.read_text() for each in environment.iterdir()} == dict.fromkeys(
        ("a.bc", "a.input.bc"), "a program"
    )
