"""The log level of the package and its services."""

import logging
import os

_VARIABLE = "COMPILER_GYM_DEBUG"
_OUTPUT_VARIABLE = "COMPILER_GYM_SHOW_OUTPUT"
_LOGGING_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


def get_debug_level() -> int:
    """Returns the debug level: 0 errors, 1 warnings, 2 information, 3 and more debugging.

    It is read from the environment variable ``COMPILER_GYM_DEBUG``; services are started with a
    verbosity that is one less.

    Raises:
        ValueError: The variable is not a number.
    """
    text = os.environ.get(_VARIABLE) or "0"
    try:
        return max(0, int(text))
    except ValueError:
        raise ValueError(
            f"The environment variable {_VARIABLE} is to be a number from 0 (errors only) to 4 "
            f"(everything), but is {text!r}"
        ) from None


def get_logging_level() -> int:
    """Returns the level of Python's ``logging`` that corresponds to the debug level."""
    return _LOGGING_LEVELS[min(get_debug_level(), len(_LOGGING_LEVELS) - 1)]


def set_debug_level(level: int) -> None:
    """Sets the debug level of this process, and of services started from now on."""
    os.environ[_VARIABLE] = str(max(0, int(level)))
    logging.getLogger("compiler_gym").setLevel(get_logging_level())


def is_output_shown() -> bool:
    """Returns whether services write what their compilers print to this process's error output.

    They do if the environment variable ``COMPILER_GYM_SHOW_OUTPUT`` is neither empty nor 0.
    """
    return os.environ.get(_OUTPUT_VARIABLE, "") not in ("", "0")


def show_output() -> None:
    """Enables the output of services that are started from now on, see :func:`is_output_shown`."""
    os.environ[_OUTPUT_VARIABLE] = "1"
