"""Policies trained on many programs, and judged on programs of other packages.

All methods run at most 45 passes in an episode, and see the same training programs.
"""
