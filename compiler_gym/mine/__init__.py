"""Search for missed optimisations of LLVM: smaller or faster code than that of clang, explained."""
