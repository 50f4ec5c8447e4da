"""Decisions of LLVM's register allocator as a game: the environment ``llvm-regalloc-v0``."""
