"""The number of processors that this process may use."""

import math
import os
from functools import lru_cache
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


@lru_cache(maxsize=1)
def processors() -> int:
    """Returns how many processors this process may keep busy, at least 1.

    A container may have fewer than the machine: by its processor set, or by a share of time
    (``cpu.max`` of cgroup version 2, ``cpu.cfs_quota_us`` of version 1), rounded up.
    """
    allowed = len(os.sched_getaffinity(0))
    return max(1, min([allowed, *_quotas(Path("/proc/self/cgroup"), _CGROUPS)]))


def _quotas(memberships: Path, root: Path) -> list[int]:
    """Returns the limits of the control groups that a process is in, and of those around them.

    Args:
        memberships: Lines such as ``0::/user.slice`` or ``4:cpu,cpuacct:/docker/0123``.
        root: Where control groups are mounted.
    """
    limits = []
    for line in _text_of(memberships).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = root / "cpu" if controllers else root
        group = base / path.lstrip("/")
        # In a container the path is that of the host, but its own group is at the root.
        for each in (group, *group.parents):
            if not each.is_relative_to(base):
                break
            limits += _quota_of(each)
    return limits


def _quota_of(group: Path) -> list[int]:
    """Returns the limit of a control group; nothing if it has none."""
    try:
        text = _text_of(group / "cpu.max") or " ".join(
            _text_of(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")
        )
        quota, period = map(int, text.split())
    except ValueError:  # There are no such files, or they say "max".
        return []
    return [math.ceil(quota / period)] if quota > 0 else []


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
