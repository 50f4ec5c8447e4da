"""Ctrl-C at each line of steps of vector environments: no result is lost, and none comes twice."""

import linecache
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import compiler_gym

APPEND_A, NO_OP, END = 3, 4, 5

VECTOR = ("compiler_gym.vector.",)
LAYERS_BELOW = (
    "compiler_gym.service.environment.episode_runner",
    "compiler_gym.service.environment.plain_steps",
    "compiler_gym.service.session.session",
    "compiler_gym.service.transport.frame_batch",
    "compiler_gym.service.transport.frame_socket",
)

# CPython handles signals at calls and jumps. Nothing of the kind is between the last assignment of
# these functions and this line.
LAST_LINE = "return result"

# Once these have begun, it is not known how far they have come.
LOSING_LINE = re.compile(r"begin_(multi)?step\(|step\.send\(\)|\.result\(\)|\.receive\(\)")
FAST_STEPS = "compiler_gym.vector.fast_steps"
LOSING_FUNCTIONS = ("begin", "send", "receive", "result")


class CtrlC:
    """Raises KeyboardInterrupt at a line of some modules, as the debugger's hook counts lines.

    Args:
        modules: Prefixes of the names of the modules.
        position: The number of executed lines before that line.

    Attributes:
        was_raised: True if there was such a line.
        line: Its text.
        is_losing: True if a session may be lost there.
    """

    def __init__(self, modules: tuple[str, ...], position: int):
        self.was_raised = False
        self.line = ""
        self.is_losing = False
        self._modules = modules
        self._left = position

    def __enter__(self) -> "CtrlC":
        sys.settrace(self._call)
        return self

    def __exit__(self, kind: Any, *_: object) -> bool:
        sys.settrace(None)
        return kind is KeyboardInterrupt

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        is_traced = frame.f_globals.get("__name__", "").startswith(self._modules)
        return self._trace if is_traced else None

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if event != "line":
            return self._trace
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if line.strip() == LAST_LINE:
            return self._trace
        if self._left == 0:
            self.was_raised = True
            self.line = line
            is_fast = frame.f_globals["__name__"] == FAST_STEPS
            is_within = is_fast and frame.f_code.co_name in LOSING_FUNCTIONS
            self.is_losing = is_within or bool(LOSING_LINE.search(line))
            raise KeyboardInterrupt
        self._left -= 1
        return self._trace


def results_left(envs: Any) -> Iterator[tuple[int, tuple[str, float, bool, bool], bool]]:
    """Yields the results of recv(): number, result, and whether the session was lost."""
    while True:
        try:
            observations, rewards, terminated, truncated, infos = envs.recv()
        except ValueError as error:
            assert "Cannot wait for 1 results" in str(error)
            return
        for row, number in enumerate(infos["env_id"].tolist()):
            result = texts(observations)[row], rewards[row], terminated[row], truncated[row]
            yield number, result, is_lost(infos, row)


def is_lost(infos: dict[str, Any], row: int) -> bool:
    """True if Ctrl-C has cost this environment its episode."""
    info = infos
    if "final_info" in infos and infos["_final_info"][row]:
        info = infos["final_info"]
    if "error_type" not in info or not info["_error_type"][row]:
        return False
    assert info["error_type"][row] == "SessionLost"
    assert "Ctrl-C" in info["error_details"][row]
    return True


def begin_episodes(envs: Any) -> list[str]:
    """Begins episodes, of which the first has ended unless it is followed by the next at once.

    Returns:
        The texts.
    """
    envs.reset()
    is_next = envs.autoreset_mode.value == "NextStep"
    return texts(envs.step([END if is_next else APPEND_A, NO_OP])[0])


def texts(observations: Any) -> list[str]:
    """The texts, or descriptions of other observations."""
    return [str(each) for each in observations]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("observation", ["text", "histogram"])
@pytest.mark.parametrize(("modules", "stride", "fewest"), [(VECTOR, 1, 80), (LAYERS_BELOW, 4, 100)])
def test_several_environments(toy_id, mode, observation, modules, stride, fewest):
    actions = [END if mode == "SameStep" else NO_OP, APPEND_A]
    position = 0
    with compiler_gym.make_vec(
        toy_id, 2, observation_space=observation, autoreset_mode=mode
    ) as envs:
        begin_episodes(envs)
        observations, *others, _ = envs.step(actions)
        expected = [*zip(texts(observations), *others, strict=True)]
        while True:
            before = begin_episodes(envs)
            with CtrlC(modules, position) as ctrl_c:
                envs.step(actions)
            if not ctrl_c.was_raised:
                break
            seen = set()
            for number, result, was_lost in results_left(envs):
                assert number not in seen
                seen.add(number)
                if was_lost:
                    assert modules is not VECTOR or ctrl_c.is_losing, ctrl_c.line
                    assert result[1:] == (0, False, True)
                    assert mode == "SameStep" or result[0] == before[number]
                else:
                    assert result == expected[number]
            # The others have not begun their step, so that the next one is their first.
            observations, *others, infos = envs.step(actions)
            results = [*zip(texts(observations), *others, strict=True)]
            for number in {0, 1} - seen:
                assert results[number] == expected[number]
                assert not is_lost(infos, number)
            position += stride
    assert position >= fewest


@pytest.mark.parametrize(
    ("mode", "action"), [("NextStep", APPEND_A), ("NextStep", END), ("SameStep", END)]
)
@pytest.mark.parametrize(("modules", "stride", "fewest"), [(VECTOR, 1, 20), (LAYERS_BELOW, 4, 50)])
def test_single_environment(toy_id, mode, action, modules, stride, fewest):
    """The next step truncates the episode, unless the interrupted one has not begun."""
    position = 0
    with compiler_gym.make_vec(toy_id, 1, observation_space="text", autoreset_mode=mode) as envs:
        envs.reset()
        expected = tuple(each[0] for each in envs.step([action])[:4])
        while True:
            envs.reset()
            with CtrlC(modules, position) as ctrl_c:
                envs.step([action])
            if not ctrl_c.was_raised:
                break
            left = [*results_left(envs)]
            for _, result, was_lost in left:
                assert not was_lost
                assert result == expected
            if not left:
                *result, infos = envs.step([action])
                result = tuple(each[0] for each in result)
                if is_lost(infos, 0):
                    assert result[0] in ("hello", expected[0])
                    assert result[1:] == (0, False, True)
                else:
                    assert result == expected
            envs.reset()
            assert envs.step([NO_OP])[0] == ("hello",)
            position += stride
    assert position >= fewest
