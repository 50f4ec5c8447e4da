"""Compilation for language models: a workbench of tools, and the protocols to use it.

:class:`compiler_gym.agents.workbench.Workbench` has the tools, independent of any protocol. The
rest of the package serves it over MCP, to trainers of TRL, and, in :mod:`compiler_gym.openenv`, as
OpenEnv.
"""
