"""Readable text about an environment's program: a summary and a diff."""

import difflib
from collections.abc import Iterator

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.envs.llvm.ir_alignment import renumbered
from compiler_gym.util.shell_format import plural

RENDER_MODES = ("human", "ansi", "summary", "diff")

_CONTEXT_LINES = 3
_COSTS = {
    "instructions": ("IrInstructionCount", "IrInstructionCount"),
    "bytes of code": ("ObjectTextSizeBytes", "ObjectTextSize"),
}


def ir_before(env: CompilerEnv, steps: int = 1) -> str:
    """Returns the program from before the last actions, as textual IR.

    The earlier actions are repeated in a separate session; the environment does not change.

    Args:
        env: The environment. There has to be an episode.
        steps: The number of actions to leave out, at most as many as there were.

    Raises:
        Exception: If the service fails.
    """
    actions = env.actions[: max(0, len(env.actions) - steps)]
    with env.fork() as clone:
        clone.reset(benchmark=env.benchmark, observation_space=None, reward_space=None)
        (text,), _, _, _ = clone.multistep(actions, observation_spaces=["Ir"])
    return text


def diff_of_ir(before: str, after: str) -> Iterator[str]:
    """Yields the lines of a unified diff of two programs; none if they are the same.

    The values of the first have the numbers of the second, see :func:`renumbered`.
    """
    before = renumbered(before, after)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=_CONTEXT_LINES
    )
    function = ""
    old = iter(before.splitlines())
    seen = 0
    for line in lines:
        if line.startswith("@@"):
            start = int(line.split()[1].lstrip("-").partition(",")[0])
            # As `diff -p` does, a hunk says which function it is of.
            while seen < start:
                text = next(old, "")
                seen += 1
                if text.startswith("define "):
                    function = text.partition("@")[2].partition("(")[0]
                elif text == "}":
                    function = ""
            yield f"{line} {function}".rstrip()
        else:
            yield line


def diff_of_step(env: CompilerEnv, actions: int) -> Iterator[str]:
    """Yields the lines of a diff of the program before and after the last step, or a remark.

    Args:
        env: The environment. There has to be an episode.
        actions: How many actions the step had; 0 if there was none yet.
    """
    lines = list(diff_of_ir(ir_before(env, actions), env.observation["Ir"])) if actions else []
    yield from lines or ["No difference" if actions else "No step yet"]


def summary_of(env: CompilerEnv) -> Iterator[str]:
    """Yields lines about an episode: program, costs beside those of -O0 and -Oz, last action.

    Raises:
        SessionNotFound: If there is no episode.
    """
    names = [
        name for cost, prefix in _COSTS.values() for name in (cost, f"{prefix}O0", f"{prefix}Oz")
    ]
    values = iter(env.observation.observe(names))
    yield f"{env.benchmark}"
    yield f"{'':15}{'now':>9}{'-O0':>9}{'-Oz':>9}{'of -Oz':>9}"
    for label in _COSTS:
        now, unoptimised, oz = next(values), next(values), next(values)
        share = f"{now / oz:.1%}" if oz else ""
        yield f"{label:15}{now:>9}{unoptimised:>9}{oz:>9}{share:>9}"
    actions = env.actions
    last = f", the last {env.action_space.names[actions[-1]]}" if actions else ""
    yield f"{plural(len(actions), 'action')}{last}"
    if env.reward_space is not None:
        yield f"{env.reward_space.name} {env.episode_reward:.4f}"
