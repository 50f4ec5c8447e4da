"""Search for missed optimisations of LLVM: smaller code than that of ``clang -Oz``, explained."""
