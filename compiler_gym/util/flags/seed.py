"""The flag ``--seed``."""

from absl import flags

flags.DEFINE_integer("seed", 0xCC, "The seed of random numbers.")
