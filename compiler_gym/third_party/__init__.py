"""Modules about third-party work, at their CompilerGym 0.2 import paths.

What is here lives elsewhere in the package today, but for ``gccinvocation``.
"""
