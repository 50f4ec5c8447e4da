"""Log messages on the standard error stream."""

import logging
import sys

from compiler_gym.util.debug_util import get_logging_level

_HANDLER_NAME = "compiler_gym"


def init_logging(level: int | None = None, logger: logging.Logger | None = None) -> None:
    """Prints log messages with their time, level and origin. Calling it again is harmless.

    Args:
        level: The least level to print; that of ``COMPILER_GYM_DEBUG`` if not given.
        logger: The logger, and those below it, to print; that of this package if not given.
    """
    logger = logger or logging.getLogger("compiler_gym")
    logger.setLevel(get_logging_level() if level is None else level)
    for handler in list(logger.handlers):
        if handler.name == _HANDLER_NAME:
            logger.removeHandler(handler)
    # Created again, because sys.stderr may have changed.
    handler = logging.StreamHandler(sys.stderr)
    handler.name = _HANDLER_NAME
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s] %(message)s", datefmt="%H:%M:%S")
    )
    logger.addHandler(handler)
