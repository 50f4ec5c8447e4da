"""The flag ``--episode_length``."""

from compiler_gym.compat.absl_flags import flags

flags.DEFINE_integer("episode_length", 5, "The number of steps of an episode.", lower_bound=1)
