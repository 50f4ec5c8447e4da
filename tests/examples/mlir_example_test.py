import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"


def test_mlir_search():
    path = EXAMPLES / "mlir_search.py"
    assert len(path.read_text().splitlines()) <= 60
    command = [sys.executable, str(path), "sum-columns", "--steps=40"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    # Interchanged loops are many times as fast, and soon found.
    assert float(re.search(r"([\d.]+) x: ", done.stdout)[1]) > 2
