"""The exceptions of this package, and the description of a failed validation."""

from compiler_gym.errors.dataset_errors import (
    BenchmarkInitError,
    DatasetInitError,
    DownloadFailed,
    TooManyRequests,
)
from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.errors.service_errors import (
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
from compiler_gym.errors.validation_errors import MinimizationError, ValidationError

__all__ = [
    "BenchmarkInitError",
    "DatasetInitError",
    "DownloadFailed",
    "EnvironmentNotSupported",
    "MinimizationError",
    "ServiceError",
    "ServiceInitError",
    "ServiceIsClosed",
    "ServiceOSError",
    "ServiceTransportError",
    "SessionDied",
    "SessionLost",
    "SessionNotFound",
    "TooManyRequests",
    "UnknownNameError",
    "ValidationError",
]
