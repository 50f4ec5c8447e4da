"""``compiler-gym shell``: an environment played by hand, pass by pass."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from compiler_gym.cli.console import (
    is_failure,
    messages,
    print_line,
    working_on,
)
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    EnvOption,
    RewardOption,
    ServiceOption,
    complete_program,
    opened_env,
    program_uri,
)
from compiler_gym.cli.player import Player
from compiler_gym.cli.shell_commands import COMMANDS, Command, prompt_of, step
from compiler_gym.errors import ServiceError
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.util.runfiles_path import cache_path
from compiler_gym.util.shell_format import describe_error

_HISTORY_FILE = "shell-history"
_HISTORY_LINES = 1000
_WIDTH_OF_USAGE = 22
_LEAVING = ("quit", "exit")


def shell(
    program: Annotated[
        str | None,
        typer.Argument(help=PROGRAM_HELP, autocompletion=complete_program, show_default=False),
    ] = None,
    reward: RewardOption = None,
    env: EnvOption = "llvm-ic-v0",
    service: ServiceOption = None,
) -> None:
    """Play by hand, pass by pass.

    Apply passes, look at their effect, undo them. help lists the commands.

    Without a terminal, commands are read from standard input until one fails.

    \b
    Examples:
      compiler-gym shell program.c
      echo 'sroa instcombine; diff; commandline' | compiler-gym shell sha256
    """  # noqa: D301
    with opened_env(env, service, reward_space=reward) as opened:
        uri = None if program is None else program_uri(program)
        with working_on(f"compiling {opened.benchmark if uri is None else program}"):
            player = Player(opened, uri)
        Shell(player, COMMANDS).run()


class Shell:
    """Reads and runs commands until the end of the input.

    Args:
        player: The player.
        commands: The commands besides ``help`` and ``quit``.
        prompt: Returns the prompt.
        greeting: The greeting on terminals.
    """

    def __init__(
        self,
        player: Player,
        commands: Sequence[Command],
        prompt: Callable[[Player], str] = prompt_of,
        greeting: str = "Type names of passes, or help. Tab completes, Ctrl-D leaves.",
    ):
        self._player = player
        self._commands = {command.name: command for command in commands}
        self._prompt = prompt
        self._greeting = greeting

    def run(self) -> None:
        """Reads commands from the terminal or from standard input.

        Raises:
            ValueError: If a command fails without a terminal. The text names it.
        """
        if sys.stdin.isatty():
            self._converse()
        else:
            self._work_off()

    def _work_off(self) -> None:
        for number, line in enumerate(sys.stdin, start=1):
            for command in split_commands(line):
                if command[0] in _LEAVING:
                    return
                try:
                    self.do(command)
                except Exception as error:
                    if isinstance(error, BrokenPipeError) or not is_failure(error):
                        raise
                    raise ValueError(f"line {number}: {describe_error(error)}") from error

    def _converse(self) -> None:
        messages().print(self._greeting)
        with self._readline():
            while True:
                try:
                    line = input(self._prompt(self._player))
                except KeyboardInterrupt:
                    print()
                    continue
                except EOFError:
                    print()
                    return
                if not self._do_line(line):
                    return

    def _do_line(self, line: str) -> bool:
        """Runs the commands of a line. Returns False to leave."""
        try:
            for command in split_commands(line):
                if command[0] in _LEAVING:
                    return False
                self.do(command)
        except KeyboardInterrupt:
            messages().print("Interrupted; back to after the last step")
            self._player.resume()
        except Exception as error:
            if not is_failure(error):
                raise
            messages().print(describe_error(error), style="red")
            if isinstance(error, ServiceError):
                self._player.resume()
        return True

    def do(self, words: list[str]) -> None:
        """Runs a command, given by its name and arguments. Names of passes are steps.

        Raises:
            Exception: If it fails.
        """
        name, *arguments = words
        if name == "help":
            self._help(arguments)
        elif name in self._commands:
            self._commands[name].run(self._player, arguments)
        else:
            self._do_steps(words)

    def _do_steps(self, words: list[str]) -> None:
        try:
            self._player.env.commandline_to_actions(words[0])
        except (LookupError, ValueError):
            if words[0] != "-":
                known = [*self._commands, "help", "quit", *self._player.action_names()]
                raise ValueError(
                    f"There is no command and no pass {words[0]!r}."
                    f"{did_you_mean(words[0], known)} Type help"
                ) from None
        step(self._player, words)

    def _help(self, names: list[str]) -> None:
        commands = [self._command(name) for name in names] or self._commands.values()
        for command in commands:
            print_line(f"{command.usage:{_WIDTH_OF_USAGE}} {command.help}")
        if not names:
            print_line(f"{'help [COMMAND]':{_WIDTH_OF_USAGE}} This list.")
            print_line(f"{'quit':{_WIDTH_OF_USAGE}} Leave, as Ctrl-D does.")
            print_line("\nNames of passes alone are steps; several commands go between semicolons.")

    def _command(self, name: str) -> Command:
        if name not in self._commands:
            raise ValueError(f"There is no command {name!r}.{did_you_mean(name, self._commands)}")
        return self._commands[name]

    # ----------------------------------------------------------------------------------------------
    # The current input line.

    def completions(self, before: str, word: str) -> list[str]:
        """Returns the completions of the last word of a line.

        Args:
            before: The text before the word.
            word: The beginning of the word.
        """
        earlier = before.rpartition(";")[2].split()
        if not earlier:
            words = [*self._commands, "help", *_LEAVING, *self._player.action_names()]
        elif earlier[0] in self._commands:
            words = [*self._commands[earlier[0]].complete(self._player)]
        elif earlier[0] == "help":
            words = [*self._commands]
        else:
            words = self._player.action_names()
        return sorted({each for each in words if each.startswith(word)})

    @contextmanager
    def _readline(self) -> Iterator[None]:
        """Enables completion and history, if Python supports them."""
        try:
            import readline
        except ImportError:  # Optional in Python.
            yield
            return

        def complete(word: str, number: int) -> str | None:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            found = self.completions(before, word)
            return found[number] if number < len(found) else None

        path = cache_path(_HISTORY_FILE)
        with suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(_HISTORY_LINES)
        readline.set_completer_delims(" \t\n;,")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            readline.set_completer(None)
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(path)


def split_commands(line: str) -> list[list[str]]:
    """Returns the commands of a line, each as its words. # begins a comment.

    Raises:
        ValueError: If a quote is not closed.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        raise ValueError(f"{line.strip()}: {error}") from error
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) == {";"}:
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]
