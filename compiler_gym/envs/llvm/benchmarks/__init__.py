"""Programs of one's own as benchmarks, and checks of what became of a program."""
