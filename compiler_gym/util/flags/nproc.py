"""The flag ``--nproc``."""

from compiler_gym.compat.absl_flags import flags
from compiler_gym.util.processors import processors

flags.DEFINE_integer("nproc", processors(), "The number of parallel workers.", lower_bound=1)
