"""Baseline players without a model, for the same tasks and budget.

``python -m compiler_gym.agents.baselines`` prints the table of ``docs/guides/agents.md``.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compiler_gym.agents.compiler import Compiler, shared_compiler
from compiler_gym.agents.tasks import TASK_LIMITS, Budget, Episode, Task, tasks_of
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.util.statistics import arithmetic_mean, geometric_mean

_RANDOM_LENGTH = 20
_CHARACTERS_OF_TOKEN = 4


@dataclass(frozen=True)
class Result:
    """The result of an episode.

    Attributes:
        program: The URI of the program.
        cost: The instructions that are left.
        oz: The instructions that -Oz leaves.
        reward: The verified reward.
        calls: The number of calls of tools.
        passes: The number of passes that were run.
        tokens: The length of all answers and arguments, four characters for each.
        seconds: The time of all calls except the last, which verifies the program.
        verify_seconds: The time of the last call.
    """

    program: str
    cost: int
    oz: int
    reward: float
    calls: int
    passes: int
    tokens: int
    seconds: float
    verify_seconds: float


class Player:
    """Calls the tools of an episode, and counts calls and characters.

    Args:
        episode: The episode.
    """

    def __init__(self, episode: Episode):
        self.episode = episode
        self.names: Sequence[str] = episode.bench.pass_names
        self.characters = len(episode.first_text)

    def call(self, tool: str, **arguments: object) -> bool:
        """Calls a tool, unless only the submitting call is left. Returns true if it did."""
        episode = self.episode
        if episode.reward is not None or episode.calls + 1 >= episode.budget.calls:
            return False
        answer = episode.call(tool, **arguments)
        self.characters += len(answer.text) + len(json.dumps(arguments))
        return not answer.is_error

    def try_all(self, sequences: Sequence[Sequence[str]]) -> bool:
        """Tries sequences, as many as possible in each call, and applies the best of each call."""
        most = TASK_LIMITS.sequences
        return all(
            self.call("try_sequences", sequences=sequences[at : at + most], apply_best=True)
            for at in range(0, len(sequences), most)
        )

    @property
    def passes_left(self) -> int:
        """The number of passes that may still be run."""
        return self.episode.budget.passes - self.episode.bench.passes_run


def play_random(player: Player, seed: int = 0) -> None:
    """Tries lists of random passes on the current program, and keeps improvements."""
    rng = random.Random(seed)
    while player.passes_left >= 4 * _RANDOM_LENGTH:
        count = min(8, player.passes_left // _RANDOM_LENGTH - 1)
        lists = [rng.choices(player.names, k=_RANDOM_LENGTH) for _ in range(count)]
        if not player.try_all(lists):
            return


def play_greedy(player: Player) -> None:
    """Tries each pass, applies the most helpful ones, and repeats until none helps."""
    while True:
        before = player.episode.bench.cost()
        if not player.try_all([[name] for name in player.names]):
            return
        if player.episode.bench.cost() == before:
            return


def play_policy(player: Player, name: str) -> None:
    """Tries the sequences of a shipped policy, the most useful first."""
    room = player.passes_left
    for sequence in Policy.load(name).sequences:
        # An applied list is run again after the trial.
        room -= 2 * len(sequence)
        if room < 0 or not player.call("try_sequences", sequences=[sequence], apply_best=True):
            return


PLAYERS: dict[str, Callable[[Player], None]] = {
    "random": play_random,
    "greedy": play_greedy,
    "sequence": lambda player: play_policy(player, "sequence"),
    "coreset": lambda player: play_policy(player, "coreset"),
}
"""The players by name."""


def play(
    task: Task,
    player: Callable[[Player], None],
    budget: Budget | None = None,
    compiler: Compiler | None = None,
) -> Result:
    """Plays an episode of a task.

    Args:
        task: The task.
        player: One of :data:`PLAYERS`.
        budget: The budget.
        compiler: The compiler; by default that of this process.
    """
    episode = Episode(task, budget, compiler)
    try:
        hand = Player(episode)
        began = time.perf_counter()
        player(hand)
        played = time.perf_counter()
        reward = episode.call("submit").reward
        return Result(
            program=task.program,
            cost=episode.bench.cost(task.objective),
            oz=episode.bench.baseline(task.objective, "Oz"),
            reward=reward or 0.0,
            calls=episode.calls,
            passes=episode.bench.passes_run,
            tokens=hand.characters // _CHARACTERS_OF_TOKEN,
            seconds=played - began,
            verify_seconds=time.perf_counter() - played,
        )
    finally:
        episode.close()


def table(results: dict[str, list[Result]]) -> Iterator[str]:
    """Yields the lines of a table in Markdown: each program, and the means of each player."""
    players = [*results]
    yield f"| program | -Oz | {' | '.join(players)} |"
    yield f"| --- | ---: |{' ---: |' * len(players)}"
    for row in zip(*results.values(), strict=True):
        cells = " | ".join(f"{each.cost} ({each.cost / each.oz - 1:+.1%})" for each in row)
        yield f"| {row[0].program.rpartition('/')[2]} | {row[0].oz} | {cells} |"
    summaries: tuple[tuple[str, str, Callable[[Result], float]], ...] = (
        ("mean reward", ".3f", lambda each: each.reward),
        ("mean calls", ".0f", lambda each: each.calls),
        ("mean passes", ".0f", lambda each: each.passes),
        ("mean tokens", ",.0f", lambda each: each.tokens),
        ("mean seconds", ".2f", lambda each: each.seconds),
        ("mean seconds to verify", ".2f", lambda each: each.verify_seconds),
    )
    cells = " | ".join(_mean_to_oz(rows) for rows in results.values())
    yield f"| geometric mean to -Oz | | {cells} |"
    for name, form, value in summaries:
        means = [arithmetic_mean(map(value, rows)) for rows in results.values()]
        yield f"| {name} | | {' | '.join(f'{mean:{form}}' for mean in means)} |"


def _mean_to_oz(rows: list[Result]) -> str:
    return f"{geometric_mean([each.cost / each.oz for each in rows]) - 1:+.1%}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Plays the held-out programs and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", nargs="*", choices=PLAYERS, default=[*PLAYERS])
    parser.add_argument("--split", default="test", help="the part of kernels-v0")
    parser.add_argument("--calls", type=int, default=Budget.calls)
    parser.add_argument("--passes", type=int, default=Budget.passes)
    options = parser.parse_args(arguments)
    budget = Budget(options.calls, options.passes)
    shared_compiler(TASK_LIMITS)
    for task in tasks_of(options.split):  # Compile, and compute the baselines.
        Episode(task, budget).close()
    results = {
        name: [play(task, PLAYERS[name], budget) for task in tasks_of(options.split)]
        for name in options.players
    }
    print(f"Budget of an episode: {budget.calls} calls, {budget.passes} passes.\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
