from pathlib import Path

from compiler_gym.compliance import Target
from compiler_gym.service.proto import Benchmark, File

PROGRAM = Path(__file__).parent / "breakable_service.py"


def number(value: int) -> Benchmark:
    """A program of the breakable service."""
    return Benchmark(
        uri=f"benchmark://numbers-v0/{value}", program=File(contents=str(value).encode())
    )


def breakable(broken: str = "", **changes) -> Target:
    """The service that breaks a rule, and all that can be told about it."""
    known = {
        "service": PROGRAM,
        "benchmarks": [number(3), number(5)],
        "arguments": [f"--break={broken}"],
        "crash_action": "crash",
        "hang_action": "hang",
        "rewards": {"growth": ["total", "text"]},
    }
    return Target(**{**known, **changes})
