"""The protocol of evaluations: a policy plays on programs that it has not learnt from."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import gymnasium

from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.datasets.benchmark import uri_of
from compiler_gym.datasets.dataset import BenchmarkChoice
from compiler_gym.datasets.selection import programs_of
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.evaluation.episodes import Episodes, compiler_env_in, player_of
from compiler_gym.evaluation.policies import Policy
from compiler_gym.evaluation.result import Evaluation
from compiler_gym.evaluation.rows import EPISODE_STEPS, EvaluationRow
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode import known_compiler_version

# Of a dataset whose size is not known.
_MAX_PROGRAMS = 100_000


def evaluate(
    policy: Policy,
    env_id: str = "llvm-autophase-ic-v0",
    part: str | None = None,
    seeds: Iterable[int] = (0,),
    *,
    benchmarks: BenchmarkChoice | None = None,
    count: int = 0,
    deterministic: bool = False,
    check: bool = False,
    common_random_numbers: bool = False,
    cost: str | None = None,
    baseline: str | None = None,
    max_episode_steps: int = EPISODE_STEPS,
    jobs: int = 1,
    on_episode: Callable[[EvaluationRow, int], None] = lambda row, total: None,
    **make_arguments: Any,
) -> Evaluation:
    """Evaluates a policy on a part of the data sets, one episode for each program and seed.

    >>> result = compiler_gym.evaluate(model, "llvm-autophase-ic-v0", seeds=range(5))
    >>> print(result)

    Costs are those of the environment's reward, for example ``IrInstructionCount`` and
    ``IrInstructionCountOz`` as its baseline; of another reward, name them.

    The random numbers of an episode follow from its seed and its program, so that they differ from
    program to program, and are the same for another policy.

    Args:
        policy: An object with ``predict(observation, deterministic=...)``, as models of
            Stable-Baselines3 and sb3-contrib have, whose states and action masks are passed too;
            one with ``play(env)``, which plays a whole episode; or a function from an observation
            to an action.
        env_id: The id of an environment of :func:`gymnasium.make`.
        part: ``"train"``, ``"validation"`` or ``"test"``: the programs of ``kernels-v0`` in this
            part, and ``count`` files of ``opensource-v0``. None is ``"test"``. With a dataset as
            ``benchmarks`` it is the part of that, and None is all of it.
        seeds: A seed for each episode of a program. With the program it makes the number that is
            given to ``reset()``, to the action space, and to ``policy.set_random_seed()`` if there
            is such a method.
        benchmarks: Other programs: a dataset or its name, or URIs, paths of files, or benchmarks.
        count: Number of files of ``opensource-v0``, drawn with the seed 0 from ten packages,
            which are downloaded when they are first used.
        deterministic: Passed to ``predict()``: whether to take the likeliest action rather than to
            draw one. The results of the two can differ a lot: publish both.
        check: Whether to run programs that can be run, and to compare their output.
        common_random_numbers: Whether to give all programs the numbers of the seed itself. A policy
            that hardly looks at its observation then plays the same actions on all of them, so
            that the mean over programs is the luck of a single sequence.
        cost: An observation space that is a number, of which less is better. With ``baseline``.
        baseline: An observation space with the cost that it is compared with.
        max_episode_steps: The limit of steps of an episode.
        jobs: The number of programs to play at a time, each in a process of its own. The result is
            the same. Scripts need ``if __name__ == "__main__":``, since the processes import them.
        on_episode: Called after each episode with its row and the number of all episodes; with
            ``jobs``, after all episodes of a program.
        **make_arguments: Arguments of :func:`gymnasium.make`, for example the ``wrappers`` that
            the policy was trained with.

    Returns:
        The rows, and why programs have none: those that cannot be downloaded or compiled.

    Raises:
        ValueError: The reward has no baseline and none is named, only one of ``cost`` and
            ``baseline`` is, there is no such part, there are no programs or seeds, some are the
            same, programs have no end, there is no limit of steps, the policy takes masks and the
            environment has none, or the policy ends an episode with another program.
        LookupError, FileNotFoundError: There is no such dataset, program or file. Names are checked
            before the first episode, as far as that is possible without a download.
        TypeError: The policy is none of the above, a seed is no integer, a cost is no number,
            ``part`` or ``count`` is given with a list of programs, or the policy cannot be sent to
            the processes of ``jobs``.
        RuntimeError: With ``jobs``, a policy fails.
        BenchmarkInitError, ServiceError: No program can be compiled at all.
    """
    player_of(policy, deterministic)
    for name, number in (("max_episode_steps", max_episode_steps), ("jobs", jobs)):
        if number < 1:  # For gymnasium, -1 is no limit.
            raise ValueError(f"expected {name} of at least 1, got {number}")
    if (cost is None) != (baseline is None):
        raise ValueError(
            "expected both cost= and baseline=, or neither, "
            f"got cost={cost!r}, baseline={baseline!r}"
        )
    seeds = _checked_seeds(seeds)
    arguments = {"id": env_id, "max_episode_steps": max_episode_steps, **make_arguments}
    with gymnasium.make(**arguments) as env:
        compiler_env = compiler_env_in(env)
        names = (cost, baseline) if cost and baseline else _costs_of(compiler_env)
        if benchmarks is None:
            part = "test" if part is None else part
            benchmarks = programs_of(compiler_env.datasets, part, count)
        elif count:
            raise TypeError(f"count: expected no benchmarks=, got count={count!r}")
        elif isinstance(benchmarks, str | Dataset):
            benchmarks = _all_of(compiler_env, benchmarks, part)
        elif part is not None:
            raise TypeError("part: expected benchmarks= to be a dataset or its name")
        programs = list(benchmarks)
        if not programs:
            raise ValueError("expected at least one program, got none; try benchmarks=[...]")
        _check_different("programs", [uri_of(each) for each in programs])
        selection = BenchmarkSelection(compiler_env.datasets)
        for each in programs:
            selection.check(each)
        total = len(programs) * len(seeds)
        rows: list[EvaluationRow] = []
        failed: dict[str, str] = {}

        def fail(program: str, error: Exception) -> None:
            if len(failed) == len(programs) - 1:
                raise error
            failed[program] = str(error)

        def resolved() -> Iterator[tuple[str, Benchmark]]:
            for each in programs:
                try:
                    yield uri_of(each), selection.resolve(each)
                except (LookupError, OSError, ValueError) as error:
                    fail(uri_of(each), error)

        episodes = Episodes(
            policy, arguments, names, seeds, deterministic, check, common_random_numbers
        )
        for program, played in _played(episodes, env, resolved(), jobs, on_episode, total):
            if isinstance(played, Exception):
                fail(program, played)
            else:
                rows += played
        version = known_compiler_version(compiler_env)
    return Evaluation(env_id, *names, tuple(rows), failed, version)


def _played(
    episodes: Episodes,
    env: gymnasium.Env,
    benchmarks: Iterable[tuple[str, Benchmark]],
    jobs: int,
    on_episode: Callable[[EvaluationRow, int], None],
    total: int,
) -> Iterator[tuple[str, list[EvaluationRow] | Exception]]:
    """Yields each program with its rows, or with the error if it cannot be compiled."""
    if jobs == 1:
        for program, benchmark in benchmarks:
            yield program, episodes.of(env, program, benchmark, lambda row: on_episode(row, total))
        return
    from compiler_gym.evaluation.processes import played_in_processes

    for program, played in played_in_processes(episodes, benchmarks, jobs):
        for row in () if isinstance(played, Exception) else played:
            on_episode(row, total)
        yield program, played


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    try:
        numbers = [operator.index(seed) for seed in seeds]
    except TypeError as error:
        raise TypeError(f"expected integers as seeds, such as range(3), got {seeds!r}") from error
    if not numbers:
        raise ValueError("expected at least one seed, got none; try seeds=range(3)")
    _check_different("seeds", numbers)
    return numbers


def _check_different(what: str, values: Sequence[Any]) -> None:
    """Raises ValueError if a value is there twice: its episode would count as two draws."""
    repeated = [value for value, times in Counter(values).items() if times > 1]
    if repeated:
        raise ValueError(f"expected different {what}, got {repeated[0]} more than once")


def _all_of(env: CompilerEnv, dataset: str | Dataset, part: str | None) -> Iterable[str]:
    """Returns the programs of a dataset, which becomes known to an environment.

    Raises:
        ValueError: There is no end to them, or there is no such part.
    """
    if isinstance(dataset, Dataset):
        env.datasets.add(dataset)
        found = dataset
    else:  # A part may need less than all of the dataset.
        found = env.datasets.require(dataset) if part is None else env.datasets.named(dataset)
    if found.size:
        return found.benchmark_uris(part)
    # The size is not known, or there is no end.
    uris = list(islice(found.benchmark_uris(part), _MAX_PROGRAMS + 1))
    if len(uris) > _MAX_PROGRAMS:
        raise ValueError(f"expected a dataset with an end, got {found}; try a list of its URIs")
    return uris


def _costs_of(env: CompilerEnv) -> tuple[str, str]:
    """Returns the names of the cost of the reward, and of that of its baseline."""
    reward = env.reward_space_spec
    names = (
        getattr(reward, "cost_function", None),
        getattr(reward, "baseline_cost_function", None),
    )
    if None in names:
        raise ValueError(
            "expected a reward that compares a cost with a baseline, such as "
            f"IrInstructionCountOz, got {reward.name if reward else None}; try reward_space=..."
        )
    return str(names[0]), str(names[1])
