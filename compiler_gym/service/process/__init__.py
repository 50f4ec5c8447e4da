"""Service processes on this machine: start, supervision, end and cleanup."""
