"""The library absl, whose flags programs for CompilerGym 0.2.5 have.

Raises:
    ImportError: It is not installed. The text says how to install it.
"""

from compiler_gym.util.optional_packages import advice

try:
    from absl import app as app
    from absl import flags as flags
except ModuleNotFoundError as error:
    raise ImportError(advice("absl"), name=error.name) from None
