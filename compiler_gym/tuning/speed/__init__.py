"""Searches for faster object files."""
