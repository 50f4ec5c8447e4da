"""Plays policies on programs that they have not learnt from, and records the costs."""

import hashlib
import json
import operator
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import signature
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import gymnasium
import numpy as np

from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.datasets.benchmark import uri_of
from compiler_gym.datasets.dataset import BenchmarkChoice
from compiler_gym.datasets.selection import programs_of
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.evaluation.result import Evaluation
from compiler_gym.evaluation.rows import EPISODE_STEPS, EvaluationRow, output_of
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode import known_compiler_version
from compiler_gym.util.optional_packages import require

# Forms of policies that can be evaluated, and how each is loaded from a name or a file.


@runtime_checkable
class PredictingPolicy(Protocol):
    """A policy that maps an observation to an action, as models of Stable-Baselines3 do."""

    def predict(self, observation: Any, deterministic: bool = ...) -> Any:
        """Returns the action, or a tuple of the action and the next state of a recurrent policy.

        Further arguments are passed to a method that names them: ``state``, the last state, None
        at first; ``episode_start``, an array that holds whether the episode begins; and
        ``action_masks``, the value of the environment's ``action_masks()``.
        """
        ...


@runtime_checkable
class PlayingPolicy(Protocol):
    """A policy that plays a whole episode of an environment with the classic interface."""

    def play(self, env: Any) -> Any:
        """Plays the episode; the state in which it leaves the environment counts."""
        ...


Policy: TypeAlias = PredictingPolicy | PlayingPolicy | Callable[[Any], Any]
"""Any of these, or a function from an observation to an action."""


# Of a dataset whose size is not known.
_MAX_PROGRAMS = 100_000

# By a setting that no algorithm before it has.
_ALGORITHMS = {"exploration_fraction": "DQN", "n_epochs": "PPO", "gae_lambda": "A2C"}

# Algorithms of sb3-contrib by a part of the module of their policy class. They have the settings
# of the algorithms above, too.
_CONTRIBUTED = {"maskable": "MaskablePPO", "recurrent": "RecurrentPPO", "qrdqn": "QRDQN"}


def load_policy(name: str) -> Policy:
    """Loads a policy by its name.

    Args:
        name: ``module:attribute`` of an importable module or one in the working directory, a model
            saved by Stable-Baselines3 (``.zip``), or a policy of this project: the name of a
            shipped one, or a JSON file.

    Raises:
        OSError: There is no such file.
        ValueError: The file or the attribute is not a policy.
        ImportError: The module, or Stable-Baselines3, is not installed.
    """
    if name.endswith(".zip"):
        return _stable_baselines_model(Path(name))
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return _function_or_object(name)
    from compiler_gym.tuning.policies.policy import Policy as ShippedPolicy

    return ShippedPolicy.load(name)


def imported(name: str) -> Any:
    """Returns ``module:attribute`` of an importable module or one in the working directory.

    Returns:
        The attribute; None if the module has none of this name.

    Raises:
        ImportError: There is no such module.
        ValueError: The name of the module is empty.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(
            f"expected a module that is installed or in {Path.cwd()}, got {module!r}"
        ) from error
    finally:
        sys.path.pop(0)


def _function_or_object(name: str) -> Policy:
    found = imported(name)
    if not isinstance(found, PredictingPolicy | PlayingPolicy) and not callable(found):
        raise ValueError(
            f"expected a function or an object with predict() or play() as {name}, got "
            f"{type(found).__name__}"
        )
    return found


def _stable_baselines_model(path: Path) -> Policy:
    """Loads a model of the algorithm that the settings in its file belong to."""
    try:
        with zipfile.ZipFile(path) as archive:
            settings = json.loads(archive.read("data"))
        library, name = _algorithm_of(settings)
    except (
        *(zipfile.BadZipFile, AttributeError, KeyError, StopIteration, TypeError, ValueError),
    ) as error:
        raise ValueError(
            f"expected a model of {', '.join(_ALGORITHMS.values())} saved by Stable-Baselines3, "
            f"got {path}; try module:function"
        ) from error
    algorithms = require(library, ImportError)
    model: Policy = getattr(algorithms, name).load(path, device="cpu")
    return model


def _algorithm_of(settings: Any) -> tuple[str, str]:
    """Returns the library of a model and the class of its algorithm.

    Raises:
        StopIteration: If it is not known.
    """
    policy = settings.get("policy_class", {})
    module = policy.get("__module__", "") if isinstance(policy, dict) else ""
    if "cg_max_steps" in settings:
        return "sb3_contrib", "TRPO"
    if module.startswith("sb3_contrib."):
        return "sb3_contrib", next(name for key, name in _CONTRIBUTED.items() if key in module)
    return "stable_baselines3", next(name for key, name in _ALGORITHMS.items() if key in settings)


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
    _player_of(policy, deterministic)
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
        compiler_env = _compiler_env(env)
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

        episodes = _Episodes(
            policy, arguments, names, seeds, deterministic, check, common_random_numbers
        )
        for program, played in _played(episodes, env, resolved(), jobs, on_episode, total):
            if isinstance(played, Exception):
                fail(program, played)
            else:
                rows += played
        version = known_compiler_version(compiler_env)
    return Evaluation(env_id, *names, tuple(rows), failed, version)


@dataclass(frozen=True)
class _Episodes:
    """The episodes of all programs. It can be sent to other processes if its attributes can.

    Attributes:
        policy: The policy.
        arguments: Those of :func:`gymnasium.make`.
        names: The observation spaces of the cost and of its baseline.
        seeds: The seeds.
        deterministic: See :func:`evaluate`, and so the others.
    """

    policy: Policy
    arguments: dict[str, Any]
    names: tuple[str, str]
    seeds: Sequence[int]
    deterministic: bool
    check: bool
    common_random_numbers: bool

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "policy": _packed(self.policy)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        load, packed = state["policy"]
        self.__dict__.update(state, policy=load(packed))

    def make_env(self) -> gymnasium.Env:
        """Returns an environment for the episodes."""
        return gymnasium.make(**self.arguments)

    def of(
        self,
        env: gymnasium.Env,
        program: str,
        benchmark: Any,
        watch: Callable[[EvaluationRow], None] = lambda _: None,
    ) -> list[EvaluationRow] | Exception:
        """Plays the episodes of a program.

        Args:
            env: The environment.
            program: The URI of the program.
            benchmark: The program.
            watch: Called after each episode.

        Returns:
            The rows; the error if the program cannot be compiled.
        """
        play, rows = _player_of(self.policy, self.deterministic), []
        try:
            for seed in self.seeds:
                number = seed if self.common_random_numbers else random_seed(seed, program)
                _seed_all(self.policy, env, number)
                observation, _ = env.reset(seed=number, options={"benchmark": benchmark})
                row = _row(env, program, seed, self.names, play(env, observation))
                output = output_of(_compiler_env(env)) if self.check else row.output
                rows.append(replace(row, output=output))
                watch(rows[-1])
        except (BenchmarkInitError, ServiceError) as error:
            return error
        return rows


def _packed(policy: Any) -> tuple[Callable[[Any], Any], Any]:
    """Returns a function, and what it makes the policy of in another process."""
    if not hasattr(policy, "get_env"):
        return _same, policy
    # Models of Stable-Baselines3 have their environments, which stay here.
    file = BytesIO()
    policy.save(file)
    return partial(_loaded, type(policy)), file.getvalue()


def _same(policy: Any) -> Any:
    return policy


def _loaded(algorithm: Any, data: bytes) -> Any:
    return algorithm.load(BytesIO(data))


def _played(
    episodes: _Episodes,
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


def random_seed(seed: int, program: str) -> int:
    """Returns the seed of the random numbers of an episode: 31 bits of a hash."""
    digest = hashlib.blake2b(f"{seed} {program}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


_Play = Callable[[gymnasium.Env, Any], Iterator[str]]


def _player_of(policy: Policy, deterministic: bool) -> _Play:
    """Returns a function that plays an episode and yields after each step why it ended, if so."""
    if isinstance(policy, PredictingPolicy):
        return lambda env, seen: _steps(env, seen, _predictor(policy, env, deterministic))
    if isinstance(policy, PlayingPolicy):
        return lambda env, seen: _whole_episode(env, policy)
    if callable(policy):
        return lambda env, seen: _steps(env, seen, policy)
    raise TypeError(
        "expected a policy with predict() or play(), or a function from an observation to an "
        f"action, got {type(policy).__name__}"
    )


def _predictor(
    policy: PredictingPolicy, env: gymnasium.Env, deterministic: bool
) -> Callable[[Any], Any]:
    """Returns a function that chooses the actions of one episode, with all that a policy needs."""
    names = list(signature(policy.predict).parameters)[1:]  # The first is the observation.
    masks = _masks_of(env, policy) if "action_masks" in names else lambda: None
    state, is_first = None, True

    def choose(seen: Any) -> Any:
        nonlocal state, is_first
        offered = {
            "state": state,
            "episode_start": np.array([is_first]),
            "action_masks": masks(),
        }
        is_first = False
        named = {name: value for name, value in offered.items() if name in names}
        prediction = policy.predict(seen, deterministic=deterministic, **named)
        if not isinstance(prediction, tuple):
            return prediction
        state = prediction[1] if len(prediction) > 1 else None
        return prediction[0]

    return choose


def _masks_of(env: gymnasium.Env, policy: PredictingPolicy) -> Callable[[], Any]:
    """Returns the method of an environment that tells which actions are allowed.

    Raises:
        ValueError: The environment has none.
    """
    try:
        masks: Callable[[], Any] = env.get_wrapper_attr("action_masks")
    except AttributeError as error:
        raise ValueError(
            f"expected an environment with action_masks() for {type(policy).__name__}, got "
            f"{env.spec.id if env.spec else env}; try wrappers=[compiler_gym.wrappers.ActionMask], "
            "or a function that calls predict() without masks"
        ) from error
    return masks


def _steps(env: gymnasium.Env, seen: Any, choose: Callable[[Any], Any]) -> Iterator[str]:
    is_over = False
    while not is_over:
        action = np.asarray(choose(seen))
        seen, _, terminated, truncated, info = env.step(
            action.item() if action.size == 1 else action
        )
        is_over = terminated or truncated
        yield info.get("error_type", "") if is_over else ""


def _whole_episode(env: gymnasium.Env, policy: PlayingPolicy) -> Iterator[str]:
    policy.play(_compiler_env(env))
    yield ""


def _row(
    env: gymnasium.Env,
    program: str,
    seed: int,
    names: tuple[str, str],
    steps: Iterator[str],
) -> EvaluationRow:
    """Plays an episode step by step, and observes the cost after each."""
    compiler_env = _compiler_env(env)
    space, benchmark = compiler_env.action_space, str(compiler_env.benchmark)
    unoptimised, baseline = (_cost(compiler_env, name) for name in names)
    costs, stopped = [unoptimised], ""
    for reason in steps:
        stopped = reason
        # After a crash there is nothing to observe: the last program counts.
        if not reason:
            try:
                costs.append(_cost(compiler_env, names[0]))
            except (ServiceError, TimeoutError) as error:
                stopped = type(error).__name__
                break
    if str(compiler_env.benchmark) != benchmark:
        raise ValueError(f"expected an episode of {benchmark}, got one of {compiler_env.benchmark}")
    actions = compiler_env.actions
    if compiler_env.action_space is not space:
        actions = [compiler_env.action_space.names[action] for action in actions]
    return EvaluationRow(
        benchmark=program,
        seed=seed,
        unoptimised=unoptimised,
        baseline=baseline,
        final=costs[-1],
        best=min(costs),
        actions=tuple(actions),
        stopped=stopped,
    )


def _cost(env: CompilerEnv, name: str) -> float:
    value = env.observation[name]
    try:
        return float(value)
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise TypeError(f"expected an observation that is a number, got {name}, {kind}") from None


def _compiler_env(env: gymnasium.Env) -> CompilerEnv:
    """Returns the environment with the classic interface inside one of gymnasium."""
    inside: CompilerEnv = env.unwrapped.compiler_env  # type: ignore[attr-defined]
    return inside


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


def _seed_all(policy: Policy, env: gymnasium.Env, seed: int) -> None:
    env.action_space.seed(seed)
    set_random_seed = getattr(policy, "set_random_seed", None)
    if callable(set_random_seed):
        set_random_seed(seed)
