"""Comparing policies by tasks that are the same for all."""
