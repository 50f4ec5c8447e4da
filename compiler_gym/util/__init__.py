"""Small helpers that more than one part of the package uses."""
