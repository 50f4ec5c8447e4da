"""Interfaces of CompilerGym 0.2.5 and gym 0.26 that nothing new should use.

It keeps programs for former releases working. Modules at the old paths (``compiler_gym.bin``,
``compiler_gym.util.flags``, ``compiler_gym.random_agents``) only import from here. You can skip
this folder when you read the package.
"""
