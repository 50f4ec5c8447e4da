"""Shared command line flags, for programs that use absl.

Importing a module defines its flags.
"""
