"""What the system says about processes, for tests of what is left of them."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether there is a process of that number that is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, those that they have started, and so on."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It ends just now.
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    return found + [grandchild for child in found for grandchild in descendants(child)]


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Fails if the condition does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"It takes more than {seconds:g} seconds"
        time.sleep(0.005)
