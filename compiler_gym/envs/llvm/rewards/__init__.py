"""The rewards of the LLVM environments."""
