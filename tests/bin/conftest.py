"""Runs the programs as processes of their own."""

from tests.cli.conftest import (  # noqa: F401, pytest finds fixtures here.
    environment,
    fixture_interrupt,
    fixture_prepared,
    fixture_program_c,
    fixture_run,
)
