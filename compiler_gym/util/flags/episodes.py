"""The flag ``--episodes``."""

from compiler_gym.compat.absl_flags import flags

flags.DEFINE_integer("episodes", 2000, "The number of episodes to play.", lower_bound=1)
