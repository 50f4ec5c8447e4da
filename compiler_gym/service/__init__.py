"""Compiler services, and the connection to them."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.errors import (
        EnvironmentNotSupported,
        ServiceError,
        ServiceInitError,
        ServiceIsClosed,
        ServiceOSError,
        ServiceTransportError,
        SessionDied,
        SessionLost,
        SessionNotFound,
    )
    from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
    from compiler_gym.service.compilation_session import CompilationSession
    from compiler_gym.service.connection import CompilerGymServiceConnection
    from compiler_gym.service.transport.connection_opts import ConnectionOpts

__all__ = [
    "ClientServiceCompilerEnv",
    "CompilationSession",
    "CompilerGymServiceConnection",
    "ConnectionOpts",
    "EnvironmentNotSupported",
    "ServiceError",
    "ServiceInitError",
    "ServiceIsClosed",
    "ServiceOSError",
    "ServiceTransportError",
    "SessionDied",
    "SessionLost",
    "SessionNotFound",
]

# Loaded when first used: the messages in compiler_gym.service.proto are often all that is needed.
_MODULES = {
    **dict.fromkeys(__all__, "compiler_gym.errors"),
    "ClientServiceCompilerEnv": "compiler_gym.service.client_service_compiler_env",
    "CompilationSession": "compiler_gym.service.compilation_session",
    "CompilerGymServiceConnection": "compiler_gym.service.connection",
    "ConnectionOpts": "compiler_gym.service.transport.connection_opts",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
