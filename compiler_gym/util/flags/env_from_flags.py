"""The path by which programs written for former releases import these."""

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
