"""Import path of 0.2.5 for these errors."""

from compiler_gym.errors.dataset_errors import DownloadFailed, TooManyRequests

__all__ = ["DownloadFailed", "TooManyRequests"]
