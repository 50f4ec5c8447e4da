"""Policies that need no search, as what they do to a program is learnt from others.

``policy.py`` runs them; ``training.py`` trains them.
"""
