"""Your own programs as benchmarks, and checks of compiled programs."""
