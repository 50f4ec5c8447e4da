"""The actions of the LLVM environments, and how they are spelt."""
