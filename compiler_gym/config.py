"""Flags that say which environments this build of the package includes."""

enable_llvm_env = True
"""Whether there are the LLVM environments, ``llvm-v0`` and its like."""

enable_mlir_env = True
"""Whether there is the MLIR environment, ``mlir-v0``."""
