"""The length and the seed of the fuzzers, as README.md says."""

import os

from tests.effort import effort

SEED = int(os.environ.get("COMPILER_GYM_FUZZ_SEED", "20240229"))
SECONDS = float(os.environ.get("COMPILER_GYM_FUZZ_SECONDS", effort(4, 60)))
