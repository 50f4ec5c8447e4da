"""Search for the options and passes that make a program small or fast, and policies that learn it.

Nothing here is an environment: the packages use the tools of LLVM, or the environments in
:mod:`compiler_gym.envs`.
"""
