"""Interfaces of CompilerGym 0.2.5 and gym 0.26 that nothing new should use.

Programs written for former releases work because of what is here. Modules at the paths of then
(``compiler_gym.bin``, ``compiler_gym.util.flags``, ``compiler_gym.random_agents``) only import it.
To understand the package, skip this folder.
"""
