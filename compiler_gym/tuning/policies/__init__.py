"""Policies that need no search, as what they do to a program is learnt from others.

``policy.py`` is what they are and do; ``training.py`` and ``network.py`` are how they learn.
"""
