"""The library absl, whose flags programs for CompilerGym 0.2.5 have.

Raises:
    ImportError: It is not installed. The text says how to install it.
"""

try:
    from absl import app as app
    from absl import flags as flags
except ImportError as error:
    raise ImportError(
        "absl-py is not installed; try \"pip install 'compiler_gym[gym]'\"", name=error.name
    ) from error
