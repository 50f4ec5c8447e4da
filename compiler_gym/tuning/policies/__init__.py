"""Policies that have learnt from other programs, and so need no search.

``policy.py`` runs them; ``training.py`` trains them.
"""
