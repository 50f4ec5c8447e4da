"""A search for defects of LLVM: crashes, hangs, broken modules, wrong and unstable results."""
