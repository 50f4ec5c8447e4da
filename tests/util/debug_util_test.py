"""The debug level."""

import logging
import os

import pytest

from compiler_gym.util.debug_util import (
    get_debug_level,
    get_logging_level,
    is_output_shown,
    set_debug_level,
    show_output,
)


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_DEBUG", "0")
    logger = logging.getLogger("compiler_gym")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.mark.parametrize(
    ("level", "logging_level"),
    [
        (0, logging.ERROR),
        (1, logging.WARNING),
        (2, logging.INFO),
        (3, logging.DEBUG),
        (4, logging.DEBUG),
    ],
)
def test_levels(level, logging_level):
    set_debug_level(level)
    assert os.environ["COMPILER_GYM_DEBUG"] == str(level)
    assert get_debug_level() == level
    assert get_logging_level() == logging_level
    assert logging.getLogger("compiler_gym.anything").getEffectiveLevel() == logging_level


@pytest.mark.parametrize(("text", "level"), [("", 0), ("-3", 0), (" 2 ", 2)])
def test_read_from_the_environment(monkeypatch, text, level):
    monkeypatch.setenv("COMPILER_GYM_DEBUG", text)
    assert get_debug_level() == level


@pytest.mark.parametrize(("text", "is_shown"), [("", False), ("0", False), ("1", True)])
def test_environment_variable_and_call_show_output(monkeypatch, text, is_shown):
    monkeypatch.setenv("COMPILER_GYM_SHOW_OUTPUT", text)
    assert is_output_shown() == is_shown
    show_output()
    assert is_output_shown()
