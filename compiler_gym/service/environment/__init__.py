"""The parts that an environment is made of, beside its session."""
