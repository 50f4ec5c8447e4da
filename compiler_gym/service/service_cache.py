"""The path by which programs written for former releases import this class."""

from compiler_gym.service.process.service_cache import ServiceCache

__all__ = ["ServiceCache"]
