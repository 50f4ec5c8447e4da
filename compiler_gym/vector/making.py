"""Functions that make vector environments."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

from gymnasium.vector import AutoresetMode

from compiler_gym.datasets.dataset import BenchmarkChoice
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.util.env_spec import NO_LIMIT, EnvSpec, check_benchmark_choice, checked_wrappers
from compiler_gym.util.registration import spec_of
from compiler_gym.vector.vector_env import CompilerVectorEnv
from compiler_gym.wrappers.datasets import with_shared_benchmarks


def make_vec(
    id: str,
    num_envs: int = 1,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    copy: bool = True,
    max_episode_steps: int | None = None,
    benchmarks: BenchmarkChoice | None = None,
    random_benchmarks: bool = False,
    wrappers: Iterable[Callable[[CompilerEnv], CompilerEnv]] = (),
    render_mode: str | None = None,
    part: str | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    balance: str | None = None,
    **kwargs: Any,
) -> CompilerVectorEnv:
    """Makes a vector environment: many environments on one service, stepped at once.

    >>> envs = compiler_gym.make_vec("llvm-autophase-ic-v0", num_envs=4, max_episode_steps=40)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, *_ = envs.step(envs.action_space.sample())
    >>> envs.close()

    Args:
        id: One of ``COMPILER_GYM_ENVS``.
        num_envs: The number of environments.
        autoreset_mode: The autoreset mode, see :class:`CompilerVectorEnv`.
        copy: Return copies of the observations, see :class:`CompilerVectorEnv`.
        max_episode_steps: The step at which an episode is truncated. -1 for no limit, None for
            the limit with which the environment was registered.
        benchmarks: The programs of episodes: a dataset or its name, or benchmarks or their URIs.
            The environments take turns: each new episode takes the next one. They repeat after the
            last; an iterator raises StopIteration instead.
        random_benchmarks: Draw a random benchmark for each episode instead. Each environment
            draws for itself, seeded by ``reset()``.
        wrappers: Wrappers for each environment: classes of ``compiler_gym.wrappers`` or
            functions. Those that change actions, observations or rewards cost nothing; with
            wrappers that only override ``multistep()``, environments step one by one.
        render_mode: The render mode of each environment, see :class:`GymnasiumEnv`.
        part: ``"train"``, ``"validation"`` or ``"test"``, of the dataset given as ``benchmarks``.
            See :meth:`compiler_gym.datasets.Dataset.part_of`.
        min_size: The minimum size of its programs in bytes, as the compiler gets them: of
            unoptimised bitcode, for LLVM. Programs of another size are left out.
        max_size: The maximum size.
        balance: ``"package"``: packages count the same, however many programs they have. Random
            programs are of a random package; else packages take turns.
        **kwargs: Arguments of the environments, e.g. ``observation_space`` and ``reward_space``.

    Returns:
        The vector environment, with the interface of gymnasium.

    Raises:
        TypeError: If ``num_envs`` is no integer.
        ValueError: If there are no environments, no such mode, or no benchmarks.
        Exception: Any error of :func:`compiler_gym.make`.
    """
    num_envs = operator.index(num_envs)
    if num_envs < 1:
        raise ValueError(f"Expected num_envs to be at least 1, got {num_envs}")
    spec = spec_of(id)
    choice = {"part": part, "min_size": min_size, "max_size": max_size, "balance": balance}
    check_benchmark_choice(benchmarks, random_benchmarks, kwargs, choice)
    wrappers = checked_wrappers(wrappers)
    limit = spec.limit(max_episode_steps)
    envs = _several(spec, num_envs, limit, kwargs)
    try:
        if benchmarks is not None:
            envs = with_shared_benchmarks(envs, benchmarks, random_benchmarks, **choice)
        for wrap in wrappers:
            envs = [wrap(env) for env in envs]
        adapted = [GymnasiumEnv(env, render_mode) for env in envs]
        vector = CompilerVectorEnv(adapted, autoreset_mode, copy, limit)
    except BaseException:
        for env in envs:
            env.close()
        raise
    vector.spec = spec  # type: ignore[assignment]  # Ours has what gymnasium reads.
    return vector


def _several(
    spec: EnvSpec, count: int, limit: int | None, kwargs: dict[str, Any]
) -> list[CompilerEnv]:
    """Makes the environments. They share one service unless wrappers are given."""
    envs = [spec.make_plain(limit, kwargs)]
    try:
        while len(envs) < count:
            if isinstance(envs[0], ClientServiceCompilerEnv):
                envs.append(envs[0].sibling())
            else:
                envs.append(spec.make_plain(limit, kwargs))
    except BaseException:
        for env in envs:
            env.close()
        raise
    return envs


def make_for_gymnasium(
    env: str, num_envs: int = 1, max_episode_steps: int | None = None, **kwargs: Any
) -> CompilerVectorEnv:
    """The vector entry point that ``gymnasium.make_vec()`` calls.

    Args:
        env: The id.
        num_envs: The number of environments.
        max_episode_steps: Same as in :func:`make_vec`, except for -1, which gymnasium passes
            if the caller did not set a limit.
        **kwargs: Arguments of :func:`make_vec`.
    """
    limit = None if max_episode_steps == NO_LIMIT else max_episode_steps
    return make_vec(env, num_envs, max_episode_steps=limit, **kwargs)
