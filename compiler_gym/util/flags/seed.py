"""The flag ``--seed``."""

from compiler_gym.compat.absl_flags import flags

flags.DEFINE_integer("seed", 0xCC, "The seed of random numbers.")
