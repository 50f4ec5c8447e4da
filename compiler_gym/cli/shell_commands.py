"""The commands of the shell. Each is a function of a player and of the words after its name."""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import typer

from compiler_gym.cli.console import (
    messages,
    output,
    print_line,
    print_table,
    progress_bar,
    working_on,
)
from compiler_gym.cli.describe import Part, dataset_row, table_of
from compiler_gym.cli.options import (
    check_outputs,
    complete_program,
    program_file,
    program_name,
    program_uri,
)
from compiler_gym.cli.player import Player
from compiler_gym.envs.workbench import Step
from compiler_gym.util.shell_format import plural

_MAX_PROGRAMS = 200
_MAX_TRIED = 15
_RANDOM = "-"
_NOTHING_BETTER = "No action has a positive reward"
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True)
class Command:
    """A command of the shell.

    Attributes:
        usage: Its name and arguments.
        run: Runs the command. The first line of its docstring is the help text.
        complete: Returns completions of the arguments.
    """

    usage: str
    run: Callable[[Player, list[str]], None]
    complete: Callable[[Player], Iterable[str]] = lambda player: ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.usage.partition(" ")[0]

    @property
    def help(self) -> str:
        """The help text of the command."""
        return (self.run.__doc__ or "").partition("\n")[0]


def _count_of(words: list[str], default: int = 1) -> int:
    """Returns the number that is the only argument of a command."""
    if not words:
        return default
    if len(words) > 1 or not words[0].isdigit() or int(words[0]) < 1:
        raise ValueError(f"Expected a positive integer, got {' '.join(words)!r}")
    return int(words[0])


def _one(words: list[str], what: str) -> str:
    if len(words) != 1:
        raise ValueError(f"Expected {what}, got {' '.join(words) or 'nothing'!r}")
    return words[0]


# --------------------------------------------------------------------------------------------------
# Programs.


def program(player: Player, words: list[str]) -> None:
    """Begin with another program, or show the current one."""
    if words:
        name = _one(words, "the name of one program")
        with working_on(f"compiling {name}"):
            player.begin(program_uri(name))
    print_line(f"{player.benchmark}{_sizes(player)}")


def programs(player: Player, words: list[str]) -> None:
    """List the programs of a dataset, or the installed ones."""
    datasets = player.env.datasets
    uris = (
        datasets.dataset(words[0]).benchmark_uris()
        if words
        else datasets.benchmark_uris(installed_only=True)
    )
    for uri in islice(uris, _MAX_PROGRAMS):
        print_line(uri)


def datasets(player: Player, words: list[str]) -> None:
    """List the datasets."""
    print_table(dataset_row(dataset) for dataset in player.env.datasets)


# --------------------------------------------------------------------------------------------------
# Steps.


def step(player: Player, words: list[str]) -> None:
    """Apply passes: names, a pipeline, or - for a random one."""
    if not words:
        raise ValueError("Which passes? 'actions' lists them, and - is a random one")
    actions: list[int] = []
    for word in words:
        if word == _RANDOM:
            actions.append(random.randrange(player.env.action_space.n))
        else:
            actions += player.env.commandline_to_actions(word)
    for action in actions:
        print_line(describe_step(len(player.steps) + 1, player.play(action), player))


def describe_step(number: int, made: Step, player: Player) -> str:
    """Returns a line about a step."""
    parts = [f"{number:>3}  {made.name:26}", "changed  " if made.has_changed else "no change"]
    if made.instructions is not None:
        parts.append(f"{made.instructions:>6} instructions")
    if made.reward is not None:
        parts.append(f"reward {made.reward:+.4f}")
    return "  ".join(parts).rstrip()


def undo(player: Player, words: list[str]) -> None:
    """Undo the last step, or the last N."""
    undone = player.undo(_count_of(words))
    if not undone:
        raise ValueError("There is no step to take back")
    print_line(f"Took back {', '.join(each.name for each in reversed(undone))}{_sizes(player)}")


def reset(player: Player, words: list[str]) -> None:
    """Restart with the same program."""
    player.begin()
    print_line(f"{player.benchmark}{_sizes(player)}")


def history(player: Player, words: list[str]) -> None:
    """List the steps."""
    if not player.steps:
        print_line("No steps yet")
        return
    for number, each in enumerate(player.steps, start=1):
        print_line(describe_step(number, each, player))
    total = player.env.episode_reward
    reward = "" if total is None else f"; reward {total:.4f}"
    print_line(f"{plural(len(player.steps), 'step')}{reward}{_sizes(player)}")


def simplify(player: Player, words: list[str]) -> None:
    """Remove steps without effect."""
    with working_on("looking for steps that are not needed"):
        shorter = player.shorter()
        dropped = len(player.steps) - len(shorter)
        if dropped:
            player.replace_steps(shorter)
    print_line(f"{plural(dropped, 'step')} left out, {len(player.steps)} left{_sizes(player)}")


def try_all(player: Player, words: list[str]) -> None:
    """Try each action from here, and list the best."""
    rewards = [(reward, action) for action, reward in _tried(player) if reward and reward > 0]
    best = sorted(rewards, key=lambda pair: (-pair[0], pair[1]))[:_MAX_TRIED]
    if not best:
        print_line(_NOTHING_BETTER)
        return
    print_table({"action": player.short_name(action), "reward": reward} for reward, action in best)


def _tried(player: Player) -> list[tuple[int, float | None]]:
    if player.env.reward_space is None:
        raise ValueError("There is no reward; set one with set-reward")
    with progress_bar() as progress:
        task = progress.add_task("trying all actions", total=player.env.action_space.n)
        tried = []
        for pair in player.rewards_of_all_actions():
            tried.append(pair)
            progress.update(task, advance=1)
        return tried


def greedy(player: Player, words: list[str]) -> None:
    """Take the best step, N times or until none is good."""
    for _ in range(_count_of(words)):
        rewards = {action: reward or 0.0 for action, reward in _tried(player)}
        best = max(rewards, key=lambda action: rewards[action])
        if rewards[best] <= 0:
            print_line(_NOTHING_BETTER)
            return
        print_line(describe_step(len(player.steps) + 1, player.play(best), player))


def climb(player: Player, words: list[str]) -> None:
    """Try N random actions, and keep those with a reward."""
    if player.env.reward_space is None:
        raise ValueError("There is no reward; set one with set-reward")
    for _ in range(_count_of(words)):
        action = random.randrange(player.env.action_space.n)
        with player.env.fork() as clone:
            _, reward, done, _ = clone.step(action)
        if not done and reward > 0:
            print_line(describe_step(len(player.steps) + 1, player.play(action), player))


def actions(player: Player, words: list[str]) -> None:
    """List the actions, or those matching a word."""
    rows = table_of(player.env, Part.actions, " ".join(words))
    for row in rows:
        row["action"] = player.short_name(row["number"])
    print_table(rows) if rows else print_line(f"No action is about {' '.join(words)!r}")


# --------------------------------------------------------------------------------------------------
# Looking at things.


def diff(player: Player, words: list[str]) -> None:
    """Show what the last step changed in the IR, or the last N."""
    count = _count_of(words)
    if not player.steps:
        raise ValueError("There is no step yet")
    lines = list(player.diff(count))
    if not lines:
        print_line("No difference")
    for line in lines:
        output().print(line, style=_DIFF_STYLES.get(line[0]) if line else None, soft_wrap=True)


def ir(player: Player, words: list[str]) -> None:
    """Show the program as textual IR, or one function of it."""
    text = player.env.observation["Ir"]
    if words:
        name = re.escape(_one(words, "the name of one function").lstrip("@"))
        found = re.search(rf'^define [^\n]*@"?{name}"?\(.*?^}}$', text, re.M | re.S)
        if found is None:
            raise ValueError(f"There is no function {words[0]!r} in the program")
        text = found[0]
    print_line(text.rstrip("\n"))


def observe(player: Player, words: list[str]) -> None:
    """Compute observations; without names, the default one."""
    default = player.env.observation_space_spec
    if not words and default is None:
        raise ValueError("Which observation? 'observations' lists them")
    specs = [player.env.observation.spec(name) for name in words or [default.id]]
    with working_on(f"computing {', '.join(spec.id for spec in specs)}"):
        values = player.env.observation.observe([spec.id for spec in specs])
    for spec, value in zip(specs, values, strict=True):
        text = spec.to_string(value).rstrip("\n")
        print_line(f"{spec.id}: {text}" if "\n" not in text else f"{spec.id}:\n{text}")


def observations(player: Player, words: list[str]) -> None:
    """List the observations."""
    print_table(table_of(player.env, Part.observations, " ".join(words)))


def set_observation(player: Player, words: list[str]) -> None:
    """Set the default observation."""
    player.env.observation_space = _one(words, "the name of one observation")


def reward(player: Player, words: list[str]) -> None:
    """Show the savings of the steps, by any reward."""
    names = words or ([player.env.reward_space.name] if player.env.reward_space else [])
    if not names:
        raise ValueError("Which reward? 'rewards' lists them")
    for name in names:
        space = player.env.reward_space
        if space is None or name != space.name:
            value = _total_of(player, name)
        else:
            value = player.env.episode_reward or 0.0
        print_line(f"{name}: {value:.6g}")


def _total_of(player: Player, name: str) -> float:
    with player.env.fork() as clone:
        clone.reset(benchmark=player.benchmark, reward_space=name)
        _, total, _, _ = clone.multistep(player.actions)
    return float(total)


def rewards(player: Player, words: list[str]) -> None:
    """List the rewards."""
    print_table(table_of(player.env, Part.rewards, " ".join(words)))


def set_reward(player: Player, words: list[str]) -> None:
    """Set the default reward, and repeat the steps."""
    player.env.reward_space = _one(words, "the name of one reward")
    player.replace_steps(player.actions)


def commandline(player: Player, words: list[str]) -> None:
    """Show the equivalent command line of the compiler."""
    print_line(player.env.commandline())


def write(player: Player, words: list[str]) -> None:
    """Write the program to a file: .ll or .bc."""
    path = Path(_one(words, "the name of one file"))
    if path.suffix not in (".ll", ".bc"):
        raise ValueError(f"The name of the file has to end in .ll or .bc, not {path.name!r}")
    try:
        check_outputs([program_file(str(player.env.benchmark))], [path])
    except typer.BadParameter as error:  # It would end the shell.
        raise ValueError(str(error)) from error
    player.env.write_ir(path) if path.suffix == ".ll" else player.env.write_bitcode(path)
    print_line(f"Wrote {path}")


def debug(player: Player, words: list[str]) -> None:
    """Enter the debugger of Python; the environment is called env."""
    env = player.env  # noqa: F841, for who debugs.
    messages().print("The environment is called env; c goes on.")
    breakpoint()


def _sizes(player: Player) -> str:
    """Returns the size of the program, for the end of a line."""
    count, oz = player.count(), player.count_of_oz()
    if count is None or not oz:
        return ""
    return f"; {count} instructions, -Oz {oz} ({count / oz:.1%})"


def prompt_of(player: Player) -> str:
    """Returns the prompt: the program and the number of steps."""
    return f"{program_name(player.benchmark)} {len(player.steps)}> "


def _programs(player: Player) -> Iterable[str]:
    return complete_program("")


def _actions(player: Player) -> Iterable[str]:
    return player.action_names()


def _observations(player: Player) -> Iterable[str]:
    return player.env.observation.spaces


def _rewards(player: Player) -> Iterable[str]:
    return player.env.reward.spaces


def _datasets(player: Player) -> Iterable[str]:
    return (str(dataset).partition("://")[2] for dataset in player.env.datasets)


COMMANDS = [
    Command("step PASS...", step, _actions),
    Command("undo [N]", undo),
    Command("diff [N]", diff),
    Command("ir [FUNCTION]", ir),
    Command("history", history),
    Command("commandline", commandline),
    Command("reset", reset),
    Command("simplify", simplify),
    Command("write FILE", write),
    Command("program [NAME]", program, _programs),
    Command("programs [DATASET]", programs, _datasets),
    Command("datasets", datasets),
    Command("actions [WORD]", actions),
    Command("try", try_all),
    Command("greedy [N]", greedy),
    Command("climb [N]", climb),
    Command("observe [NAME...]", observe, _observations),
    Command("observations [WORD]", observations),
    Command("set-observation NAME", set_observation, _observations),
    Command("reward [NAME...]", reward, _rewards),
    Command("rewards [WORD]", rewards),
    Command("set-reward NAME", set_reward, _rewards),
]
