"""The number of processors that a process may use."""

import pytest

from compiler_gym.util.processors import _quotas


@pytest.mark.parametrize(
    ("memberships", "files", "limits"),
    [
        ("0::/a/b", {"a/b/cpu.max": "150000 100000", "a/cpu.max": "max 100000"}, [2]),
        ("0::/a", {"a/cpu.max": "50000 100000", "cpu.max": "400000 100000"}, [1, 4]),
        # In a container: the path is that of the host.
        ("0::/docker/0123", {"cpu.max": "300000 100000"}, [3]),
        (
            "4:memory:/m\n3:cpu,cpuacct:/c",
            {"cpu/c/cpu.cfs_quota_us": "200000", "cpu/c/cpu.cfs_period_us": "100000"},
            [2],
        ),
        ("3:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, []),
        (None, {}, []),
    ],
)
def test_limits_of_control_groups(tmp_path, memberships, files, limits):
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    if memberships is not None:
        (tmp_path / "memberships").write_text(memberships + "\n")
    assert _quotas(tmp_path / "memberships", tmp_path / "cgroup") == limits
