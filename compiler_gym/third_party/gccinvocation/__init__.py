"""Command lines of gcc and of compilers like it."""

from compiler_gym.third_party.gccinvocation.gccinvocation import GccInvocation

__all__ = ["GccInvocation"]
