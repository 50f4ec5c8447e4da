"""Programs for the command line: ``python -m compiler_gym.bin.NAME``.

Those of former releases are in :mod:`compiler_gym.compat.programs`.
"""
