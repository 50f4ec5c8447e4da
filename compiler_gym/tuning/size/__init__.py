"""Makes the object files of clang smaller: with options, decisions about inlining, and a search."""
