"""The path by which programs written for former releases import this class."""

from compiler_gym.errors.validation_error import ValidationError

__all__ = ["ValidationError"]
