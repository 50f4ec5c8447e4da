"""The path by which programs written for former releases import these errors."""

from compiler_gym.errors.dataset_errors import DownloadFailed, TooManyRequests

__all__ = ["DownloadFailed", "TooManyRequests"]
