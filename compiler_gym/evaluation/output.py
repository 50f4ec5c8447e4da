"""The check that the program of an episode still prints the same."""

from compiler_gym.envs.compiler_env import CompilerEnv

RIGHT, WRONG, NOT_CHECKED, ENDLESS = "right", "WRONG", "not checked", "no end"


def output_of(env: CompilerEnv) -> str:
    """Runs the program of an episode before and after its actions, if it can be run.

    Returns:
        One of :data:`RIGHT`, :data:`WRONG`, :data:`NOT_CHECKED` and :data:`ENDLESS`. The last is
        that of a program that exceeds the time limit before any action.
    """
    if env.benchmark is None or not env.benchmark.running_callbacks():
        return NOT_CHECKED
    types = [error.type for error in env.validate().errors]
    if "Execution timeout of the unoptimised program" in types:
        return ENDLESS
    if any(type.endswith("of the unoptimised program") for type in types):
        return NOT_CHECKED
    return WRONG if types else RIGHT
