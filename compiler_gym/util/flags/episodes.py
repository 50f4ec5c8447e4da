"""The flag ``--episodes``."""

from absl import flags

flags.DEFINE_integer("episodes", 2000, "The number of episodes to play.", lower_bound=1)
