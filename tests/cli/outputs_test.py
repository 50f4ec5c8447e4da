"""Outputs of commands that would take the place of their inputs."""

import pytest


@pytest.mark.parametrize(
    "words",
    [
        "search a.bc -o . --tries 5",
        "search a.input.bc --output . --tries 5",
        "search file://{folder}/a.bc -o . --tries 5",
        "replay -p a.bc sroa --write ./a.bc",
        "replay -p file://{folder}/a.bc sroa --write a.bc",
        "replay states.csv --write a.bc",
        "collect a.bc -o a.bc -- false",
        "chat . -o episodes-0.parquet",
    ],
)
def test_an_input_stays_as_it_is(run, environment, words):
    files = dict.fromkeys(("a.bc", "a.input.bc", "episodes-0.parquet"), "an input")
    files["states.csv"] = (
        "benchmark,reward,walltime,commandline\n"
        f"file://{environment}/a.bc,,0,opt input.bc -o output.bc\n"
    )
    for name, text in files.items():
        (environment / name).write_text(text)
    failed = run(*words.format(folder=environment).split(), code=2).stderr
    assert "is an input or another output" in failed
    assert {each.name: each.read_text() for each in environment.iterdir()} == files
