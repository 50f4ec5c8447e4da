"""Episodes of a policy on programs, step by step, with their costs."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from io import BytesIO
from typing import Any

import gymnasium
import numpy as np

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.evaluation.policies import PlayingPolicy, Policy, PredictingPolicy
from compiler_gym.evaluation.rows import EvaluationRow, output_of


@dataclass(frozen=True)
class Episodes:
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
        play, rows = player_of(self.policy, self.deterministic), []
        try:
            for seed in self.seeds:
                number = seed if self.common_random_numbers else random_seed(seed, program)
                _seed_all(self.policy, env, number)
                observation, _ = env.reset(seed=number, options={"benchmark": benchmark})
                row = _row(env, program, seed, self.names, play(env, observation))
                output = output_of(compiler_env_in(env)) if self.check else row.output
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


def random_seed(seed: int, program: str) -> int:
    """Returns the seed of the random numbers of an episode: 31 bits of a hash."""
    digest = hashlib.blake2b(f"{seed} {program}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


_Play = Callable[[gymnasium.Env, Any], Iterator[str]]


def player_of(policy: Policy, deterministic: bool) -> _Play:
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
    policy.play(compiler_env_in(env))
    yield ""


def _row(
    env: gymnasium.Env,
    program: str,
    seed: int,
    names: tuple[str, str],
    steps: Iterator[str],
) -> EvaluationRow:
    """Plays an episode step by step, and observes the cost after each."""
    compiler_env = compiler_env_in(env)
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


def compiler_env_in(env: gymnasium.Env) -> CompilerEnv:
    """Returns the environment with the classic interface inside one of gymnasium."""
    inside: CompilerEnv = env.unwrapped.compiler_env  # type: ignore[attr-defined]
    return inside


def _seed_all(policy: Policy, env: gymnasium.Env, seed: int) -> None:
    env.action_space.seed(seed)
    set_random_seed = getattr(policy, "set_random_seed", None)
    if callable(set_random_seed):
        set_random_seed(seed)
