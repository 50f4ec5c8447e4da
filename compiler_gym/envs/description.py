"""One-line descriptions of environments."""

from collections.abc import Callable
from typing import Any

from compiler_gym.errors import SessionNotFound
from compiler_gym.util.shell_format import plural


def describe_env(env: Any, known_costs: Callable[[], str]) -> str:
    """Describes an environment in any state, in one line. Computes nothing.

    Args:
        env: The environment. Its construction may have failed halfway.
        known_costs: Describes the known costs of the program. Only called during an episode.

    Returns:
        Its id, the program, the number of actions, and the costs.
    """
    name = type(env).__name__
    try:
        name = env.spec.id if env.spec else name
        return f"<{name}: {_describe_episode(env, known_costs)}>"
    except Exception:  # A broken environment can be printed, too.
        return f"<{name}: not usable>"


def _describe_episode(env: Any, known_costs: Callable[[], str]) -> str:
    try:
        _ = env.episode_walltime
    except SessionNotFound:  # Finding the next benchmark may need the service.
        return "not reset yet"
    count = len(env.actions)
    if not env.in_episode:
        return f"closed after {plural(count, 'action')}"
    return ", ".join(filter(None, [str(env.benchmark), plural(count, "action"), known_costs()]))
