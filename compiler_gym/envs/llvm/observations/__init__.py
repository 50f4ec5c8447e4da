"""Observations that this process computes, and the tool that needs no environment."""
