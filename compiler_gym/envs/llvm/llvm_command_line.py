"""The action space of the LLVM environments: passes, and the command lines of ``opt`` they make."""

import re
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from typing_extensions import override

from compiler_gym.compat.legacy_actions import LEGACY_ACTIONS
from compiler_gym.spaces import Commandline, CommandlineFlag, NamedDiscrete, UnknownNameError
from compiler_gym.spaces.named_discrete import not_in_space

# The syntax of pass pipelines, as ``opt -passes=`` understands it.
#
# A pipeline is a list of elements separated by commas. An element is a name, options in angle
# brackets, and for adaptors a nested pipeline in parentheses: ``function(loop-mssa(licm))``,
# ``cgscc(inline)``, ``function(simplifycfg<switch-to-lookup>)``.

_CLOSING = {"(": ")", "<": ">"}


FORGET_ANALYSES = "invalidate<all>"
"""What makes ``opt`` forget all that passes have computed to ask it."""


def split_pipeline(text: str) -> list[str]:
    """Splits a pipeline at the commas outside of all brackets.

    Args:
        text: A pipeline, e.g. ``"function(sroa),cgscc(inline)"``.

    Returns:
        Its elements, e.g. ``["function(sroa)", "cgscc(inline)"]``; none for a blank text.

    Raises:
        ValueError: If brackets do not match, or an element is empty.
    """
    if not text.strip():
        return []
    elements = []
    expected: list[str] = []  # The brackets to be closed, innermost last.
    start = 0
    for position, character in enumerate(text):
        if character in _CLOSING:
            expected.append(_CLOSING[character])
        elif character in _CLOSING.values():
            if not expected or expected.pop() != character:
                raise ValueError(
                    f"Unexpected '{character}' at position {position} of the pass pipeline '{text}'"
                )
        elif character == "," and not expected:
            elements.append(text[start:position].strip())
            start = position + 1
    if expected:
        raise ValueError(f"Missing '{expected[-1]}' at the end of the pass pipeline '{text}'")
    elements.append(text[start:].strip())
    if not all(elements):
        raise ValueError(f"Empty element in the pass pipeline '{text}': check its commas")
    return elements


def unnest(element: str) -> str | None:
    """Returns the pipeline inside an adaptor, or None if the element is not an adaptor.

    ``function(sroa)`` gives ``sroa``; ``function<eager-inv>(sroa,dce)`` gives ``sroa,dce``;
    ``gvn<no-pre>`` gives None.
    """
    if not element.endswith(")"):
        return None
    opening = element.find("(")
    return element[opening + 1 : -1].strip() if opening > 0 else None


def elements_of_module(pipeline: str) -> list[str]:
    """Same as :func:`split_pipeline`, also for a pipeline with ``module(...)`` around it."""
    elements = split_pipeline(pipeline)
    if len(elements) == 1 and elements[0].startswith("module("):
        return split_pipeline(unnest(elements[0]) or "")
    return elements


def unnested_forms(element: str) -> Iterator[str]:
    """Yields an element without its outermost adaptor, then without the next one, and so on.

    ``function(loop-mssa(licm))`` gives ``loop-mssa(licm)``, then ``licm``. Stops at an adaptor
    that holds more than one element.
    """
    inner = unnest(element)
    while inner is not None and len(split_pipeline(inner)) == 1:
        yield inner
        inner = unnest(inner)


def short_name(space: NamedDiscrete, name: str) -> str:
    """Returns the shortest name of an action in its space: ``sroa`` of ``function(sroa)``.

    Raises:
        UnknownNameError: If there is no such action.
    """
    number = space[name]
    for form in reversed([*unnested_forms(name)]):
        for candidate in (form.partition("<")[0], form):
            try:
                if space[candidate] == number:
                    return candidate
            except LookupError:
                continue
    return name


_OPT = re.compile(r"opt(-\d+)?(\.exe)?")
_PASSES_OPTIONS = ("passes", "p")
_OPTIONS_WITH_VALUE = ("o", "load-pass-plugin")
# Options of opt that do not change what the passes do.
_NEUTRAL_OPTIONS = ("discard-value-names", "S", "f")


class LlvmCommandline(Commandline):
    """The integers 0 to n - 1, each of them one pass of LLVM.

    The flag of an action, nearly always its name too, is the text that ``opt -passes=`` understands
    inside of ``module(...)``, with all its adaptors: ``function(sroa)``,
    ``function(loop-mssa(licm))``, ``globaldce``. An action that does nothing has no text. An action
    also has shorter names, which ``space["..."]`` and :meth:`from_string` understand too:

    - ``sroa`` and ``-sroa``, the pass without its adaptors;
    - ``instcombine``, a pass without its parameters, if the space has no action for it plain;
    - ``-functionattrs``, what CompilerGym 0.2.5 called it (see :data:`LEGACY_ACTIONS`).

    ``flags.index()``, ``names.index()`` and ``in`` understand them as well.
    """

    def __init__(
        self,
        items: Iterable[CommandlineFlag],
        name: str | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space of passes. Raises ValueError if there are none."""
        super().__init__(items, name=name, prefix="opt", suffix="input.bc -o output.bc", seed=seed)
        self._aliases = dict(self._indices)
        for alias, pipeline in _aliases(tuple(self.flags)):
            if pipeline in self._indices:
                self._aliases.setdefault(alias, self._indices[pipeline])
        self.flags = _Names(self.flags, self)
        self.names = _Names(self.names, self)

    @property
    def pipelines(self) -> list[str]:
        """The ``opt -passes=`` text of each action; empty for actions without effect."""
        return self.flags

    def __getitem__(self, name: str) -> int:
        """Returns the number of an action.

        Args:
            name: Any of its names, with or without a leading dash.

        Raises:
            UnknownNameError: If there is no such action. The text names similar ones.
            TypeError: If it is no text.
        """
        if not isinstance(name, str):
            raise TypeError(f"expected the name of an action, got {name!r}")
        word = _word(name)
        index = self._aliases.get(word)
        if index is not None:
            return index
        if word in LEGACY_ACTIONS:
            raise UnknownNameError(self._describe_missing_legacy_action(word))
        raise not_in_space(name, self.name, self._aliases)

    def has_name(self, name: str) -> bool:
        """Returns true if an action has this name, as understood by ``space[name]``."""
        return _word(name) in self._aliases

    def to_string(
        self,
        values: int | Iterable[int],
        textformat: bool = False,
        forget_analyses: bool = False,
    ) -> str:
        """Returns the command line of opt that does what a list of actions does.

        It reads ``input.bc`` and writes ``output.bc``; given the unoptimised program of a
        benchmark, opt writes exactly the bitcode that the environment has after the actions.

        Args:
            values: The actions.
            textformat: Whether to use textual IR, ``input.ll`` and ``output.ll``, instead. That is
                for reading: values get other names, and passes may meet them in another order.
            forget_analyses: Make opt forget analyses after each pass.

        Raises:
            IndexError: If a value is not in the space.
        """
        values = self._checked_list(values)
        passes = self._text_of(values)
        if forget_analyses:
            passes = ",".join(f"{each},{FORGET_ANALYSES}" for each in split_pipeline(passes))
        # opt cannot read textual IR, which refers to values by name, without value names.
        words = ["opt"] if textformat else ["opt", "-discard-value-names"]
        words += self.options_of(values)
        if passes:
            words.append(f"-passes={shlex.quote(f'module({passes})')}")
        words += ["input.ll", "-S", "-o", "output.ll"] if textformat else [self.suffix]
        return " ".join(words)

    def from_string(self, text: str) -> list[int]:
        """Returns the actions that a command line of opt stands for: undoes :meth:`to_string`.

        Understands ``opt -passes='module(function(sroa),globaldce)' input.bc -o output.bc`` with
        any path of opt and any file names, the pipeline alone, with or without ``module(...)``, and
        one option for each pass as in ``opt -sroa -globaldce input.bc -o output.bc``.

        Raises:
            UnknownNameError: If a part of it is not an action. The text names similar ones.
            ValueError: If quotes or brackets do not match, or there are words too many.
        """
        return _CommandlineParser(self, text).parse()

    @override
    def with_items(self, items: Iterable[CommandlineFlag], name: str | None) -> "LlvmCommandline":
        return type(self)(items, name=name)

    @override
    def _text_of(self, values: list[int]) -> str:
        return ",".join(filter(None, (self.pipelines[value] for value in values)))

    def commandline(self, values: int | Iterable[int], textformat: bool = False) -> str:
        """Same as :meth:`to_string`; the name of the 0.2.5 interface."""
        return self.to_string(values, textformat)

    def actions_of_pipeline(self, pipeline: str) -> list[int]:
        """Returns the actions of a pass pipeline, e.g. ``module(function(sroa),globaldce)``.

        Raises:
            UnknownNameError: If an element is not an action. The text names similar ones.
            ValueError: If brackets do not match.
        """
        return [self[element] for element in elements_of_module(pipeline)]

    def advice_for(self, index: int) -> str:
        """Returns the end of the error message for a number that is not an action."""
        if not len(self.names) <= index < len(LEGACY_ACTIONS) or not self.has_name("mem2reg"):
            return ""
        return (
            ". If it is one of the 124 actions of CompilerGym 0.2.5, make the environment with "
            'action_space="Legacy124", or set COMPILER_GYM_ACTION_SPACE=Legacy124'
        )

    def _describe_missing_legacy_action(self, name: str) -> str:
        pipeline = LEGACY_ACTIONS[name]
        if pipeline is None:
            return (
                f"'-{name}' of CompilerGym 0.2.5 has no counterpart in today's LLVM: leave it out, "
                'or make the environment with action_space="Legacy124", where it does nothing'
            )
        return (
            f"'-{name}' of CompilerGym 0.2.5 is '{pipeline}' today, which the space {self.name!r} "
            'does not offer: make the environment with action_space="Legacy124", which has all '
            "actions of that release"
        )


class _Names(list[str]):
    """A list whose ``index()`` and ``in`` understand all names of the actions of a space."""

    def __init__(self, names: Iterable[str], space: LlvmCommandline):
        super().__init__(names)
        self._space = space

    @override
    def index(self, value: str, *bounds: SupportsIndex) -> int:
        """Returns the number of an action.

        Raises:
            ValueError: There is no such action. The text names similar ones.
        """
        try:
            return super().index(value, *bounds)
        except ValueError:
            if bounds:
                raise
        return self._space[value]

    @override
    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or (
            isinstance(value, str) and self._space.has_name(value)
        )


def _word(name: str) -> str:
    """Returns the name of an action without the dash of 0.2.5."""
    return name.strip().lstrip("-")


@lru_cache(maxsize=32)  # Each environment has the spaces of the others.
def _aliases(flags: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns further names and the flag of each; of equal names, the earlier counts."""
    # No-ops have no text, and macros have several elements.
    forms = {flag: [*unnested_forms(flag)] for flag in flags if len(split_pipeline(flag)) == 1}
    return [
        *((form, flag) for flag, inner in forms.items() for form in inner),
        *((name, pipeline) for name, pipeline in LEGACY_ACTIONS.items() if pipeline is not None),
        *(([flag, *inner][-1].partition("<")[0], flag) for flag, inner in forms.items()),
    ]


class _CommandlineParser:
    """Goes through the words of a command line of opt once."""

    def __init__(self, space: LlvmCommandline, text: str):
        self.space = space
        self.text = text
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ValueError(f"Malformed command line '{text}': {error}") from error
        self.is_whole = bool(words) and _OPT.fullmatch(words[0].rpartition("/")[2]) is not None
        self.words = iter(words[1:] if self.is_whole else words)
        self.has_input = False
        self.has_pipeline = False
        self.actions: list[int] = []

    def parse(self) -> list[int]:
        for word in self.words:
            if word.startswith("-") and word != "-":
                self._option(word)
            else:
                self._operand(word)
        return self.actions

    def _option(self, word: str) -> None:
        name, has_value, value = word.lstrip("-").partition("=")
        if name in _PASSES_OPTIONS:
            self._pipeline(value if has_value else self._next(word))
        elif name in _OPTIONS_WITH_VALUE:
            if not has_value:
                self._next(word)
        elif name not in _NEUTRAL_OPTIONS:
            self.actions.append(self.space[word])

    def _operand(self, word: str) -> None:
        is_file = word == "-" or word.endswith((".bc", ".ll"))
        if not self.is_whole and not is_file:
            self.actions += self.space.actions_of_pipeline(word)
        elif self.has_input:
            raise ValueError(f"Unexpected '{word}' in the command line '{self.text}'")
        else:
            self.has_input = True

    def _pipeline(self, pipeline: str) -> None:
        if self.has_pipeline:
            raise ValueError(f"More than one -passes= in the command line '{self.text}'")
        self.has_pipeline = True
        self.actions += self.space.actions_of_pipeline(pipeline)

    def _next(self, word: str) -> str:
        try:
            return next(self.words)
        except StopIteration:
            raise ValueError(
                f"The command line '{self.text}' ends after {word}, which needs a value"
            ) from None


# Plugins of ``opt`` for the LLVM service.


def plugin_options(plugins: Iterable[str | Path]) -> list[str]:
    """Returns the options that make the LLVM service load plugins.

    Args:
        plugins: Files, or texts ``"FILE.so:pass,pass"``. Relative paths start at the current
            folder.

    Raises:
        FileNotFoundError: If there is no such file.
        TypeError: If it is a single path rather than several.
    """
    if isinstance(plugins, str | Path):
        raise TypeError(f"pass_plugins is a list of plugins: write [{str(plugins)!r}]")
    return [f"--load-pass-plugin={_with_absolute_path(str(plugin))}" for plugin in plugins]


def _with_absolute_path(plugin: str) -> str:
    if Path(plugin).is_file():
        return str(Path(plugin).absolute())
    path, colon, names = plugin.rpartition(":")
    if not colon or not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no pass plugin {path or plugin}. Give the path of a file, or FILE:pass,pass"
        )
    return f"{Path(path).absolute()}:{names}"
