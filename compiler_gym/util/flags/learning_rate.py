"""The flag ``--learning_rate``."""

from compiler_gym.compat.absl_flags import flags

flags.DEFINE_float("learning_rate", 0.008, "The rate at which to learn.", lower_bound=0)
