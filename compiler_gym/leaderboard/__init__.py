"""Comparison of policies on fixed tasks."""
