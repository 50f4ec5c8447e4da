"""The parts of an environment, except its session."""
