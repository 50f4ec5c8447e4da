"""The service of ``gcc-v0``: sessions on programs that a GCC compiles."""
