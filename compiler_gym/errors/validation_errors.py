"""Import path of 0.2.5 for this class."""

from compiler_gym.errors.validation_error import ValidationError

__all__ = ["ValidationError"]
