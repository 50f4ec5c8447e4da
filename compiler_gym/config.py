"""Which environments this build of the package has."""

enable_llvm_env = True
"""Whether there are the LLVM environments, ``llvm-v0`` and its like."""

enable_mlir_env = True
"""Whether there is the MLIR environment, ``mlir-v0``."""
