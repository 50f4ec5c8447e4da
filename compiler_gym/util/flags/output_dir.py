"""The flag ``--output_dir``."""

from compiler_gym.compat.absl_flags import flags

flags.DEFINE_string(
    "output_dir",
    None,
    "The directory to read and write results in; by default a new one for each run.",
)
