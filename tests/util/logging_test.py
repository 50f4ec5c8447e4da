"""Printing of log messages."""

import logging

import pytest

from compiler_gym.util.logging import init_logging


@pytest.fixture
def logger():
    result = logging.Logger("compiler_gym.test")
    yield result
    result.handlers.clear()


def test_prints_once_however_often_it_is_called(logger, capsys):
    init_logging(logging.INFO, logger)
    init_logging(logging.INFO, logger)
    logger.info("the message")
    logger.debug("not this one")
    err = capsys.readouterr().err
    assert err.count("the message") == 1
    assert "INFO compiler_gym.test] the message" in err
    assert "not this one" not in err
