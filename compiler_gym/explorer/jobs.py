"""Rankings, searches and analyses of causes, which give results one after the other."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Literal

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import COSTS
from compiler_gym.explorer import messages
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.workbench import Workbench
from compiler_gym.tuning.policies.policy import (
    COST,
    FIRST_SEQUENCE,
    Levels,
    Policy,
    continued,
    features_of,
    mutate,
)
from compiler_gym.util.thread_pool import stream_in_threads

_WORKERS = 2
_SECONDS_BETWEEN_POINTS = 0.25


class Control:
    """Stops and pauses a job. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._goes_on = threading.Event()
        self._goes_on.set()
        self.is_stopped = False

    def stop(self) -> None:
        """Ends the job soon."""
        self.is_stopped = True
        self._goes_on.set()

    def pause(self) -> None:
        """Makes the job wait."""
        if not self.is_stopped:
            self._goes_on.clear()

    def resume(self) -> None:
        """Ends :meth:`pause`."""
        self._goes_on.set()

    def wait(self) -> float:
        """Waits while the job is paused, and returns for how many seconds."""
        began = time.monotonic()
        self._goes_on.wait()
        return time.monotonic() - began


def rank(
    bench: Workbench, request: messages.RankRequest, control: Control
) -> Iterator[messages.RankRow]:
    """Tries each action in a fork of a state, and yields the effects in the order they are known.

    Args:
        bench: The programs.
        request: The state.
        control: Ends the ranking early.

    Raises:
        ExplorerError: If there is no such state, or it is the branch of a level.
    """
    if bench.space_of(request.actions) != "PassesAll":
        raise ExplorerError("input", "expected a branch of passes, got the branch of a level")
    cost = COSTS[request.objective]
    with bench.fork(request.program, request.actions) as start:
        # Forks inherit what is known about functions that they do not change.
        before = int(start.observation[cost])
        lock = threading.Lock()

        def try_action(name: str) -> messages.RankRow | None:
            if control.is_stopped:
                return None
            with lock:
                env = start.fork()
            with env:
                return _try(bench, env, name, cost, before)

        names = bench.action_space.names
        with closing(stream_in_threads(try_action, names, _WORKERS, in_order=False)) as rows:
            for row in rows:
                if row is not None:
                    yield row


def _try(bench: Workbench, env: LlvmEnv, name: str, cost: str, before: int) -> messages.RankRow:
    try:
        (stats,) = bench.step(env, [name], ["PassStats"])
        changed = bool(stats["changed"])
        after = int(env.observation[cost]) if changed else before
    except ExplorerError as error:
        return messages.RankRow(action=name, changed=False, saved=None, error=str(error))
    return messages.RankRow(action=name, changed=changed, saved=before - after)


def search(
    bench: Workbench, request: messages.SearchRequest, control: Control
) -> Iterator[messages.SearchPoint]:
    """Searches for the actions that make a program cheapest, and yields each progress.

    Begins with sequences learnt from many programs, and then changes the best one a little, again
    and again.

    Args:
        bench: The programs.
        request: The program and the time.
        control: Ends the search early, or pauses it.

    Raises:
        ExplorerError: If there is no such program, or the time is too long.
    """
    limit = bench.limits.search_seconds
    if request.seconds > limit:
        raise ExplorerError("limit", f"expected at most {limit:g} s, got {request.seconds:g} s")
    cost = COSTS[request.objective]
    rng = random.Random(request.seed)
    space = bench.action_space
    learnt = (FIRST_SEQUENCE, *Policy.load("sequence").sequences)
    first = [[space[name] for name in names] for names in learnt]
    began = time.monotonic()
    (best,) = bench.observe(request.program, [], [cost])
    point = messages.SearchPoint(seconds=0, tries=0, best=int(best), actions=[])
    actions: list[int] = []
    yield point
    said = began
    tries = 0
    while not control.is_stopped:
        began += control.wait()
        now = time.monotonic()
        if now - began > request.seconds:
            break
        trial = first.pop(0) if first else mutate(actions, int(space.n), rng)
        names = [space.names[number] for number in trial[: bench.limits.actions]]
        found = _cost_after(bench, request.program, names, cost)
        tries += 1
        is_better = found is not None and found < point.best
        if found is not None and found <= point.best:
            actions = trial
        if is_better or now - said > _SECONDS_BETWEEN_POINTS:
            said = now
            point = messages.SearchPoint(
                seconds=round(time.monotonic() - began, 3),
                tries=tries,
                best=found if is_better and found is not None else point.best,
                actions=names if is_better else point.actions,
            )
            yield point
    yield point.model_copy(update={"seconds": round(time.monotonic() - began, 3), "tries": tries})


def _cost_after(bench: Workbench, program: str, names: Sequence[str], cost: str) -> int | None:
    with bench.fork(program, []) as env:
        try:
            return int(bench.step(env, names, [cost])[0])
        except ExplorerError:
            return None


def policy(bench: Workbench, request: messages.PolicyRequest) -> messages.Pipeline:
    """Returns the actions that a policy of the package chooses for a program, or a level.

    Raises:
        ExplorerError: If there is no such program.
    """
    chosen = Policy.load(request.policy)
    cost, actions = _chosen(bench, request.program, chosen)
    levels = Levels.among(bench.pipeline_space.names).all
    for level in levels if chosen.levels else ():
        try:
            (found,) = bench.observe(request.program, level, [COST])
        except ExplorerError:  # The others may do.
            continue
        if found < cost:
            cost, actions = int(found), [*level]
    return messages.Pipeline(actions=actions)


def _chosen(bench: Workbench, program: str, chosen: Policy) -> tuple[int, list[str]]:
    """Returns the least cost with the passes of a policy, and the passes that lead there."""
    sequences = chosen.sequences
    if chosen.continues:
        cost, passes = _continued(bench, program, sequences)
        return cost, [*passes]
    with bench.fork(program, []) as start:
        lowest = int(start.observation[COST])
        if chosen.network is not None:
            sequences = (sequences[int(chosen.network.predict(features_of(start)).argmin())],)
    best: list[str] = []
    for sequence in sequences:
        with bench.fork(program, []) as env:
            for length, name in enumerate(sequence[: bench.limits.actions], 1):
                try:
                    cost = int(bench.step(env, [name], [COST])[0])
                except ExplorerError:
                    break
                if cost < lowest:
                    lowest, best = cost, [*sequence[:length]]
    return lowest, best


def _continued(
    bench: Workbench, program: str, sequences: Sequence[Sequence[str]]
) -> tuple[int, tuple[str, ...]]:
    """Tries sequences, each on the best program so far. Returns its cost and its passes."""

    def run(env: LlvmEnv, names: Sequence[str]) -> int | None:
        if len(env.actions) + len(names) > bench.limits.actions:
            return None
        try:
            return int(bench.step(env, names, [COST])[0])
        except ExplorerError:
            return None

    with bench.fork(program, []) as env:
        return continued(env, sequences, run)


def causes(
    bench: Workbench, request: messages.CausesRequest, control: Control
) -> Iterator[messages.Cause]:
    """Leaves out each earlier step of a state, and yields the effect of the last step without it.

    Args:
        bench: The programs.
        request: The state.
        control: Ends the analysis early.

    Raises:
        ExplorerError: If there is no such state, or it has no step.
    """
    if not request.actions:
        raise ExplorerError("input", "expected a state after at least one action, got the program")
    bench.numbers(request.actions)
    *earlier, last = request.actions
    saved = _saved(bench, request.program, earlier, [], last)
    for index in range(len(earlier)):
        if control.is_stopped:
            return
        try:
            found = _saved(bench, request.program, earlier[:index], earlier[index + 1 :], last)
        except ExplorerError:
            yield messages.Cause(
                step=index, changed=False, saved=0, saved_before=saved[1], verdict="unknown"
            )
            continue
        yield messages.Cause(
            step=index,
            changed=found[0],
            saved=found[1],
            saved_before=saved[1],
            verdict=_verdict(saved, found),
        )


def _saved(
    bench: Workbench, program: str, start: Sequence[str], rest: Sequence[str], last: str
) -> tuple[bool, int]:
    """Returns whether an action changes a program, and how many instructions it saves."""
    count = COSTS["instructions"]
    with bench.fork(program, start) as env:
        (before,) = bench.step(env, rest, [count])
        after, stats = bench.step(env, [last], [count, "PassStats"])
        return bool(stats["changed"]), int(before) - int(after)


def _verdict(
    with_step: tuple[bool, int], without: tuple[bool, int]
) -> Literal["enables", "does its work", "no influence"]:
    if with_step == without:
        return "no influence"
    return "enables" if without < with_step else "does its work"
