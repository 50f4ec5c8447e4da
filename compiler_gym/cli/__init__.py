"""The command line program ``compiler-gym``: a module for each of its commands."""
