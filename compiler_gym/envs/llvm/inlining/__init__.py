"""Decisions of LLVM's inliner as a game: the environment ``llvm-inline-v0``."""
