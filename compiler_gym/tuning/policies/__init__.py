"""Policies that have learnt from other programs, and so need no search."""
