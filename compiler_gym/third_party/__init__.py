"""Where programs written for CompilerGym 0.2 import from that are about the work of others.

What is here lives elsewhere in the package today, but for ``gccinvocation``.
"""
