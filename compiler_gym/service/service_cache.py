"""Import path of 0.2.5 for this class."""

from compiler_gym.service.process.service_cache import ServiceCache

__all__ = ["ServiceCache"]
