"""What an environment says about itself in a line."""

from collections.abc import Callable
from typing import Any

from compiler_gym.errors import SessionNotFound
from compiler_gym.util.shell_format import plural


def describe_env(env: Any, known_costs: Callable[[], str]) -> str:
    """Returns what is known about an environment, in whatever state. Computes nothing.

    Args:
        env: The environment; may be a half made one.
        known_costs: Returns in words what is known of the costs of the program. Called in an
            episode only.

    Returns:
        Its id, the program, the number of actions, and the costs.
    """
    name = type(env).__name__
    try:
        name = env.spec.id if env.spec else name
        return f"<{name}: {_describe_episode(env, known_costs)}>"
    except Exception:  # Whatever is the matter with it, it can be printed.
        return f"<{name}: not usable>"


def _describe_episode(env: Any, known_costs: Callable[[], str]) -> str:
    try:
        _ = env.episode_walltime
    except SessionNotFound:  # Which benchmark is next would have to be found out.
        return "not reset yet"
    count = len(env.actions)
    if not env.in_episode:
        return f"closed after {plural(count, 'action')}"
    return ", ".join(filter(None, [str(env.benchmark), plural(count, "action"), known_costs()]))
