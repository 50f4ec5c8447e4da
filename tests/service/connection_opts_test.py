"""The options of connections."""

import pytest
from pydantic import ValidationError

from compiler_gym.service import ConnectionOpts


@pytest.mark.parametrize(
    "options",
    [
        {"rpc_max_retires": 5},
        {"rpc_max_retries": -1},
        {"retry_wait_seconds": -0.1},
        {"retry_wait_backoff_exponent": 0.5},
        {"init_max_seconds": 0},
        {"init_max_attempts": 0},
        {"script_args": "--v=1"},
        {"script_env": {"A": 1}},
    ],
)
def test_refused_options(options):
    with pytest.raises(ValidationError):
        ConnectionOpts(**options)


def test_assignments_are_checked():
    opts = ConnectionOpts()
    opts.rpc_max_retries = 0
    with pytest.raises(ValidationError):
        opts.rpc_max_retries = -1
    assert opts.rpc_max_retries == 0
