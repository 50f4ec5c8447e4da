"""The flag ``--nproc``."""

import os

from absl import flags

flags.DEFINE_integer("nproc", os.cpu_count() or 1, "The number of parallel workers.", lower_bound=1)
