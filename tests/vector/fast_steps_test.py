"""Fast steps of vector environments, beside the same steps through all layers."""

import contextlib
import os
import re
import signal
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import compiler_gym
from compiler_gym.service.transport import frame_batch
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.wrappers import (
    ActionHistogram,
    AutophaseNorm,
    CompilerEnvWrapper,
    ObservationWrapper,
    TimeLimit,
)
from tests.processes import children, is_running, wait_until
from tests.vector.same_results import assert_same

LLVM = "llvm-autophase-ic-v0"
KERNELS = [f"benchmark://kernels-v0/{name}" for name in ("fft", "life", "sha256")]
COUNT = 3
APPEND_A, NO_OP, END, RESTRICT, CRASH = 3, 4, 5, 9, 14

# Some succeed, and the others fail in all ways that take no time.
TOY_ACTIONS = [0, 1, 2, APPEND_A, APPEND_A, APPEND_A, NO_OP, END, 6, 7, 8, RESTRICT, 13, CRASH, 22]


class Unknown(CompilerEnvWrapper):
    """Changes nothing, but overrides the method by which steps begin."""

    def begin_multistep(self, actions: Any, timeout: float = TIMEOUT) -> Any:
        return super().begin_multistep(actions, timeout)


class Halved(ObservationWrapper):
    def convert_observation(self, observation: Any) -> Any:
        return observation // 2


class Inherited(AutophaseNorm):
    def convert_observation(self, observation: Any) -> Any:
        return 2 * super().convert_observation(observation)


def are_fast(envs: Any, action: int) -> bool:
    """Makes a step. Returns true if it was fast in all environments."""
    envs.send([action] * envs.num_envs)
    are_fast = [slot.is_fast for slot in envs._slots]
    envs.recv(min_ready=envs.num_envs)
    assert len(set(are_fast)) == 1
    return are_fast[0]


def information(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """The part of ``infos`` about an environment, without what differs by process.

    An action that crashes in two environments at once has one reproducer, that of the first.
    """
    found = {}
    for key, value in infos.items():
        if key.startswith("_") or key == "env_id" or not infos[f"_{key}"][row]:
            continue
        found[key] = information(value, row) if isinstance(value, dict) else value[row]
        if key == "error_details":
            found[key] = re.sub(r"\nReproducer.*|\d+|\S*/\S*", "", found[key])
    return found


def records(result: Any, numbers: Any) -> dict[int, Any]:
    """The result of each environment, by its number."""
    *values, infos = result
    return {
        number: ([each[row].copy() for each in values], information(infos, row))
        for row, number in enumerate(numbers)
    }


def kill_sessions(envs: Any) -> None:
    (fork_server,) = children(envs.envs[0].unwrapped.compiler_env.service.service.pid)
    sessions = children(fork_server)
    for pid in sessions:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, sessions)))


def one_step(envs: Any, row: Any, is_sent: bool) -> Any:
    if not is_sent:
        return records(envs.step(row), range(envs.num_envs))
    found: dict[int, Any] = {}
    envs.send(row)
    while len(found) < envs.num_envs:
        result = envs.recv(max_ready=2)
        found |= records(result, result[4]["env_id"].tolist())
    return found


def states(envs: Any) -> list[Any]:
    each: Any = [env.compiler_env for env in envs.envs]
    return [(env.actions, env.episode_reward, str(env.benchmark)) for env in each]


def play(envs: Any, rows: Any, is_sent: bool, lost_at: int = -1) -> list[Any]:
    """Makes steps. Returns all that can be seen of them."""
    begun = envs.reset(seed=5)
    seen: list[Any] = [records((begun[0], begun[1]), range(envs.num_envs))]
    ended = np.zeros(envs.num_envs, np.bool_)
    for position, row in enumerate(rows):
        if position == lost_at:
            kill_sessions(envs)
        try:
            step = one_step(envs, row, is_sent)
        except ResetNeeded:
            begun = envs.reset(options={"reset_mask": ended})
            seen.append((begun[0].copy(), states(envs)))
            ended[:] = False
        except (ValueError, TypeError) as error:
            envs.reset()
            seen.append((type(error), str(error)))
        else:
            seen.append((step, states(envs)))
            ended |= [step[number][0][2] or step[number][0][3] for number in range(envs.num_envs)]
    return seen


@pytest.mark.parametrize(
    ("mode", "is_sent", "is_recovering"),
    [
        ("NextStep", False, False),
        ("NextStep", True, True),
        ("SameStep", True, False),
        ("SameStep", False, True),
        ("Disabled", False, False),
        ("Disabled", True, False),
    ],
)
def test_all_kinds_of_ends(toy_id, mode, is_sent, is_recovering):
    rows = np.random.default_rng(3).choice(TOY_ACTIONS, size=(40, COUNT))
    seen = []
    for wrapper in (CompilerEnvWrapper, Unknown):
        with compiler_gym.make_vec(
            toy_id,
            COUNT,
            autoreset_mode=mode,
            max_episode_steps=6,
            wrappers=[wrapper, lambda env: TimeLimit(env, 5)],
            recover=is_recovering,
        ) as envs:
            envs.reset()
            assert are_fast(envs, APPEND_A) == (wrapper is not Unknown)
            seen.append(play(envs, rows, is_sent, lost_at=20))
    assert_same(*seen)


@pytest.mark.parametrize("is_sent", [False, True], ids=["step", "send"])
@pytest.mark.parametrize(
    "wrappers",
    [
        [],
        [AutophaseNorm],
        [AutophaseNorm, lambda env: ActionHistogram(env, 6.0)],
        [ActionHistogram, ActionHistogram],
    ],
    ids=["none", "norm", "norm and histogram", "two histograms"],
)
def test_observations(wrappers, is_sent):
    rows = np.random.default_rng(4).integers(100, size=(16, COUNT))
    seen = []
    for others in ([], [Unknown]):
        with compiler_gym.make_vec(
            LLVM, COUNT, max_episode_steps=6, benchmarks=KERNELS, wrappers=[*others, *wrappers]
        ) as envs:
            envs.reset()
            assert are_fast(envs, 0) == (not others)
            seen.append(play(envs, rows, is_sent))
    assert_same(*seen)


@pytest.mark.parametrize(
    ("observation", "reward", "is_decoded"),
    [
        ("Autophase", "IrInstructionCountOz", True),
        ("InstCount", "IrInstructionCountNorm", True),
        ("Ir2vec", "ObjectTextSizeO3", True),
        ("InstCountNorm", "IrInstructionCount", False),
    ],
)
def test_spaces(observation, reward, is_decoded):
    """Replies are decoded to arrays where the service has them."""
    rows = np.random.default_rng(5).integers(100, size=(8, COUNT))
    spaces = {"observation_space": observation, "reward_space": reward}
    seen = []
    for wrappers in ([], [Unknown]):
        with compiler_gym.make_vec(
            LLVM, COUNT, max_episode_steps=5, benchmarks=KERNELS, wrappers=wrappers, **spaces
        ) as envs:
            envs.reset()
            assert are_fast(envs, 0) == (not wrappers)
            if not wrappers:
                values = [envs._steps._batch.decoded(place) for place in range(COUNT)]
                assert [each is not None for each in values] == [is_decoded] * COUNT
            seen.append(play(envs, rows, is_sent=False))
    assert_same(*seen)


class TestFallback:
    """Steps that are not fast."""

    def test_no_native_code(self, toy_id, monkeypatch):
        monkeypatch.setattr(frame_batch, "_library", lambda: None)
        with compiler_gym.make_vec(toy_id, 2) as envs:
            envs.reset()
            assert not are_fast(envs, APPEND_A)

    @pytest.mark.parametrize(
        "options",
        [
            {"observation_space": "text"},
            {"observation_space": None},
            {"observation_space": "counter"},
            {"reward_space": None},
            {"wrappers": [Halved]},
            {"transition_cache": True},
            {"connection_settings": compiler_gym.service.ConnectionOpts(direct_channel=False)},
            {"connection_settings": compiler_gym.service.ConnectionOpts(rpc_call_max_seconds=9)},
        ],
    )
    @pytest.mark.filterwarnings("ignore:.*There is no default")
    def test_unknown(self, toy_id, options):
        with compiler_gym.make_vec(toy_id, 2, **options) as envs:
            envs.reset()
            assert not are_fast(envs, APPEND_A)

    def test_derived_wrapper(self):
        with compiler_gym.make_vec(LLVM, 2, wrappers=[Inherited]) as envs:
            envs.reset()
            assert not are_fast(envs, 0)

    def test_changes_in_the_episode(self, toy_id):
        with compiler_gym.make_vec(toy_id, 2) as envs:
            envs.reset()
            assert are_fast(envs, APPEND_A)
            envs.set_attr("reward_space", "counter")
            assert not are_fast(envs, APPEND_A)
            envs.set_attr("reward_space", "length")
            envs.reset()
            assert are_fast(envs, APPEND_A)
            for env in envs.envs:
                env.insert_wrapper(Halved)
            assert not are_fast(envs, APPEND_A)

    def test_steps_of_single_environments(self):
        """The histogram counts actions that the vector environment has not made."""
        with compiler_gym.make_vec(LLVM, 2, wrappers=[ActionHistogram]) as envs:
            envs.reset()
            envs.step([1, 2])
            envs.envs[0].step(3)
            envs.envs[0].multistep([3, 3])
            observations, *_ = envs.step([1, 1])
            counts = observations[:, 56:]
            assert counts[0].nonzero()[0].tolist() == [1, 3]
            assert counts[0, [1, 3]].tolist() == [2, 3]
            assert counts[1].nonzero()[0].tolist() == [1, 2]
            assert envs.envs[0].actions == [1, 3, 3, 3, 1]
