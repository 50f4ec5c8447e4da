"""The flag ``--nproc``."""

from absl import flags

from compiler_gym.util.processors import processors

flags.DEFINE_integer("nproc", processors(), "The number of parallel workers.", lower_bound=1)
