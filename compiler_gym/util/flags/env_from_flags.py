"""Import path of 0.2.5 for these."""

from compiler_gym.compat.env_from_flags import (
    connection_settings_from_flags,
    env_from_flags,
    env_session_from_flags,
)

__all__ = [
    "connection_settings_from_flags",
    "env_from_flags",
    "env_session_from_flags",
]
