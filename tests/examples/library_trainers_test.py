"""The trainers whose libraries are large, run briefly by tools/test_examples.sh."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
SHOWN = r"4800 steps: ([\d.]+)% of what -Oz saves, ([\d.]+)% in the best of 5"


@pytest.mark.parametrize("name", ["rllib_ppo", "sb3_ppo"])
def test_learns(name):
    """Passes at random save half as much as -Oz."""
    command = [sys.executable, EXAMPLES / f"{name}.py", "--steps", "4800"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    once, best = re.search(f"^{SHOWN}$", done.stdout, re.M).groups()
    assert 75 < float(once) < float(best)
