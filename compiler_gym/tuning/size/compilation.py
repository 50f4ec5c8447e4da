"""Commands of clang that compile a source with the user's options, and with changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from compiler_gym.tuning.size.ir_target import target_options
from compiler_gym.tuning.size.safety import NO_LIMITS, Kind, Limits
from compiler_gym.util.commands import run_command

IR_SUFFIXES = (".bc", ".ll")
"""File names of LLVM's intermediate representation."""

_LEVELS = ("-O", "-O0", "-O1", "-O2", "-O3", "-O4", "-Ofast", "-Og", "-Os", "-Oz")
DEFAULT_LEVEL = "-Oz"

# Options for the kind and path of the output, which the user must not set.
_OUTPUTS = ("-E", "-S", "-fsyntax-only", "-emit-llvm", "-o", "-###")
_OUTPUT_PREFIXES = ("-M", "-Wp,-M", "-save-temps")

# Options that only apply to sources, and would be misunderstood for bitcode. The next word is their
# value.
_SOURCE_ONLY = ("-x", "-include", "-imacros", "-include-pch")


# Options of LLVM in changes, and how newer versions call them.
_NEWER_NAMES = {"-enable-pre": "-enable-scalar-pre"}
_RENAMED = re.compile(rf"(?<![\w-])({'|'.join(_NEWER_NAMES)})(?=\W|$)")
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class Change:
    """A change to a compilation.

    Attributes:
        options: Options of LLVM.
        passes: Passes of the plugin, which run before all others.
        calls: Decisions about calls, by their number: inline (True) or not (False). LLVM decides
            about the others.
        functions: Adjustments of functions, by the number of the function: a pass that is left out
            of it, an option of LLVM such as ``-enable-pre=0`` that is set for it, or an attribute
            that it gets, such as ``frame-pointer=all``.
        loops: Hints for loops, by the number of the loop, such as ``unroll.count:4``.
        sequence: Passes of a policy, which run after those of the plugin, and before clang's own.
        profile: The path of a profile for ``-fprofile-use``; empty for none.
        kept: Weak symbols that stay in the object file although nothing uses them, by number. They
            are the same for all changes of a source, so they do not distinguish changes.
    """

    options: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    calls: tuple[tuple[int, bool], ...] = ()
    functions: tuple[tuple[int, tuple[str, ...]], ...] = ()
    sequence: tuple[str, ...] = ()
    loops: tuple[tuple[int, tuple[str, ...]], ...] = ()
    profile: str = ""
    kept: tuple[int, ...] = field(default=(), compare=False)

    def arguments(self, plugin: Path | None, limits: Limits = NO_LIMITS) -> list[str]:
        """Returns the arguments of clang for the change.

        Args:
            plugin: The plugin with the passes.
            limits: What users exclude, which the plugin enforces.
        """
        adjusted = {name_of(each) for _, names in self.functions for each in names}
        common = [each for each in self.options if name_of(each) in adjusted]
        rest = [each for each in self.options if each not in common]
        words = [word for option in rest for word in ("-mllvm", option)]
        if self.profile:
            words.append(f"-fprofile-use={self.profile}")
        passes = [*limits.first_passes(), *self.passes]
        if self.kept and self != NO_CHANGE:
            passes.append(f"keep-weak<{_text_of_kept(self.kept)}>")
        if self.calls:
            calls = _texts_of_calls(self.calls)
            passes.append(f"set-call-sites<{';'.join(calls)}>")
        if self.functions:
            # What some functions set otherwise is no option of the whole program.
            texts = [f"*={'+'.join(common)}"] if common else []
            passes.append(f"set-functions<{';'.join([*texts, *_grouped(self.functions)])}>")
        if self.loops:
            passes.append(f"set-loops<{';'.join(_texts_of(self.loops))}>")
        # Calls, functions and loops are numbered before any other pass.
        passes += self.sequence
        if not passes or (plugin is None and passes == limits.first_passes()):
            return words
        # Loaded first to register its option, and then as a plugin.
        load = ["-Xclang", "-load", "-Xclang", str(plugin), f"-fpass-plugin={plugin}"]
        return [*words, *load, "-mllvm", f"-first-passes={','.join(passes)}"]

    def within(self, limits: Limits) -> "Change":
        """Returns the change without the decisions that limits exclude."""
        options = tuple(filter(limits.knows, self.options))
        change = replace(self, options=options, passes=tuple(filter(limits.knows, self.passes)))
        if Kind.OPTIONS in limits.without:
            change = replace(change, options=(), passes=(), sequence=(), profile="")
        if Kind.CALLS in limits.without:
            change = replace(change, calls=())
        kept = (
            (index, tuple(text for text in texts if limits.permits(text)))
            for index, texts in change.functions
        )
        return replace(change, functions=tuple((index, texts) for index, texts in kept if texts))

    def plus(self, *passes: str) -> "Change":
        """Returns the change with additional passes."""
        return replace(self, passes=(*self.passes, *passes))

    def decide(self, calls: Mapping[int, bool]) -> "Change":
        """Returns the change with new decisions about some calls."""
        return replace(self, calls=tuple(sorted({**dict(self.calls), **calls}.items())))

    def adjust(self, adjustments: Mapping[int, Iterable[str]]) -> "Change":
        """Returns the change with more adjustments of some functions.

        They replace those that set the same option or attribute.
        """
        functions = dict(self.functions)
        for index, texts in adjustments.items():
            known = {name_of(text): text for text in (*functions.get(index, ()), *texts)}
            functions[index] = tuple(sorted(known.values()))
        return replace(self, functions=tuple(sorted(functions.items())))

    def toggle(self, adjustments: Mapping[int, Iterable[str]]) -> "Change":
        """Returns the change without those adjustments that it has, and with the others."""
        functions = dict(self.functions)
        added: dict[int, list[str]] = {}
        for index, texts in adjustments.items():
            present = functions.get(index, ())
            added[index] = [text for text in texts if text not in present]
            functions[index] = tuple(text for text in present if text not in texts)
        rest = tuple(sorted(each for each in functions.items() if each[1]))
        return replace(self, functions=rest).adjust({k: it for k, it in added.items() if it})

    def hint(self, loops: Mapping[int, tuple[str, ...]]) -> "Change":
        """Returns the change with other hints for some loops; without any for empty ones."""
        hinted = {**dict(self.loops), **loops}
        return replace(self, loops=tuple(sorted(each for each in hinted.items() if each[1])))


NO_CHANGE = Change()


def name_of(text: str) -> str:
    """Returns what an option or an adjustment is about: its text without the value."""
    return text.partition("=")[0]


_Numbered = tuple[tuple[int, tuple[str, ...]], ...]


def is_setting(text: str) -> bool:
    """Returns whether an adjustment sets an option or attribute. Others leave out a pass."""
    return "=" in text or text.startswith("-")


def adjustment(text: str) -> str:
    """Returns how reports call an adjustment of functions."""
    return text if is_setting(text) else f"no {text}"


def _text_of_kept(kept: Iterable[int]) -> str:
    return ":".join(map(str, kept))


def _texts_of_calls(calls: Iterable[tuple[int, bool]]) -> list[str]:
    return [f"{index}={'' if inline else 'no'}inline" for index, inline in calls]


def _texts_of(numbered: Iterable[tuple[int | str, Iterable[str]]]) -> list[str]:
    return [f"{index}={'+'.join(names)}" for index, names in numbered]


def _grouped(numbered: _Numbered) -> list[str]:
    """Returns texts such as ``0:7=licm+gvn``."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for index, names in numbered:
        groups.setdefault(names, []).append(str(index))
    return [f"{':'.join(indices)}={'+'.join(names)}" for names, indices in groups.items()]


def _numbered(texts: Iterable[str]) -> _Numbered:
    """Reads what :func:`_texts_of` writes."""
    pairs = (text.partition("=") for text in texts)
    return tuple((int(index), tuple(names.split("+"))) for index, _, names in pairs)


@dataclass(frozen=True)
class Compilation:
    """The compilation of one source to an object file.

    Attributes:
        clang: The compiler.
        source: A C or C++ source, textual IR or bitcode.
        options: The user's options.
        plugin: The plugin with the passes of changes; None without one.
        limits: What changes may do.
    """

    clang: Path
    source: Path
    options: tuple[str, ...] = ()
    plugin: Path | None = None
    limits: Limits = NO_LIMITS

    @property
    def is_ir(self) -> bool:
        """True if the source is LLVM's intermediate representation."""
        return self.source.suffix in IR_SUFFIXES

    @cached_property
    def level(self) -> str:
        """The level of optimisation: the last one in the options, -Oz by default."""
        return next((each for each in reversed(self.options) if each in _LEVELS), DEFAULT_LEVEL)

    @cached_property
    def _target(self) -> tuple[str, ...]:
        """The option for the target of IR. An option of the user comes later, and wins."""
        return target_options(self.clang, self.source) if self.is_ir else ()

    def command(self, output: Path, change: Change = NO_CHANGE) -> list[str]:
        """Returns the command that makes an object file of the source."""
        return self._command(self.source, self.options, output, change)

    def unit_command(self, unit: Path) -> list[str]:
        """Returns the command that makes unoptimised bitcode of the source."""
        stop = ["-Xclang", "-disable-llvm-passes", "-emit-llvm"]
        return [*self._command(self.source, self.options, unit, NO_CHANGE), *stop]

    def command_of_unit(self, unit: Path, output: Path, change: Change = NO_CHANGE) -> list[str]:
        """Returns the command that makes an object file of the bitcode."""
        return self._command(unit, options_of_bitcode(self.options), output, change)

    def _command(
        self, source: Path, options: Sequence[str], output: Path, change: Change
    ) -> list[str]:
        level = [] if has_level(options) else [DEFAULT_LEVEL]
        # clang warns that options for the preprocessor have no effect on bitcode.
        quiet = ["-Wno-unused-command-line-argument"] if source.suffix in IR_SUFFIXES else []
        changed = self.arguments(change)
        words = [str(self.clang), *level, *self._target, *options, *quiet, *changed]
        return [*words, "-c", str(source), "-o", str(output)]

    def arguments(self, change: Change) -> list[str]:
        """Returns the arguments of clang for a change, within the limits."""
        limits = NO_LIMITS if change == NO_CHANGE else self.limits
        arguments = change.within(limits).arguments(self.plugin, limits)
        return [_RENAMED.sub(self._name_of, each) for each in arguments]

    def _name_of(self, found: re.Match[str]) -> str:
        name = found[1]
        return name if _has_option(self.clang, name) else _NEWER_NAMES[name]


@cache
def _has_option(clang: Path, option: str) -> bool:
    """Returns whether the LLVM of clang has an option that is true or false."""
    words = ["-mllvm", f"{option}=0", "-fsyntax-only", "-xc", "/dev/null"]
    return run_command([clang, *words], _PROBE_SECONDS, check=False).returncode == 0


def has_level(options: Sequence[str]) -> bool:
    """Returns true if the options have a level of optimisation."""
    return any(each in _LEVELS for each in options)


def check_options(options: Sequence[str]) -> None:
    """Checks the user's options for a compilation to an object file.

    Raises:
        ValueError: If an option does not belong there.
    """
    for option in options:
        if option in _OUTPUTS or option.startswith(_OUTPUT_PREFIXES):
            raise ValueError(f"The option {option} of clang has no place here: leave it out")
        if option.startswith("-flto"):
            raise ValueError(
                f"With {option} clang makes no machine code before all is linked: leave it out"
            )


def options_of_bitcode(options: Sequence[str]) -> list[str]:
    """Returns the options that also apply to bitcode."""
    words = iter(options)
    kept = []
    for word in words:
        if word in _SOURCE_ONLY:
            next(words, None)
        elif not word.startswith("-x"):
            kept.append(word)
    return kept


# Changes of compilations as JSON that people can read.

Decisions = dict[str, list[str]]
"""A change, as JSON: texts by the kind of the decision."""

# What lock files called adjustments of functions when they were only passes that are left out.
_OLD_FUNCTIONS = "skipped"

_KINDS = {"options", "passes", "calls", "functions", "sequence", "loops", "profile", "kept"}

Atom = tuple[str, str]
"""A single decision: its kind and its text."""


def change_as_json(change: Change) -> Decisions:
    """Returns the decisions of a change, without the kinds of which there are none."""
    lists = {
        "options": [*change.options],
        "passes": [*change.passes],
        "calls": _texts_of_calls(change.calls),
        "functions": _texts_of(change.functions),
        "sequence": [*change.sequence],
        "loops": _texts_of(change.loops),
        "profile": [change.profile] if change.profile else [],
        "kept": [_text_of_kept(change.kept)] if change.kept and change != NO_CHANGE else [],
    }
    return {name: texts for name, texts in lists.items() if texts}


def change_from_json(facts: Mapping[str, Any]) -> Change:
    """Returns the change of its decisions.

    Raises:
        ValueError: If they are not decisions.
    """
    if _OLD_FUNCTIONS in facts:
        facts = {"functions" if key == _OLD_FUNCTIONS else key: it for key, it in facts.items()}
    if unknown := {*facts} - _KINDS:
        raise ValueError(f"expected decisions, got {', '.join(sorted(unknown))}")
    calls = (text.split("=") for text in facts.get("calls", ()))
    return Change(
        options=tuple(facts.get("options", ())),
        passes=tuple(facts.get("passes", ())),
        calls=tuple((int(index), decision == "inline") for index, decision in calls),
        functions=_numbered(facts.get("functions", ())),
        sequence=tuple(facts.get("sequence", ())),
        loops=_numbered(facts.get("loops", ())),
        profile=next(iter(facts.get("profile", ())), ""),
        kept=tuple(int(index) for text in facts.get("kept", ()) for index in text.split(":")),
    )


def single_decisions(decisions: Mapping[str, Sequence[str]]) -> list[Atom]:
    """Returns the decisions one by one."""
    atoms = []
    for kind, texts in decisions.items():
        for text in texts:
            index, _, names = text.partition("=")
            if kind == "functions":
                atoms += [(kind, f"{index}={name}") for name in names.split("+")]
            else:
                atoms.append((kind, text))
    return atoms


def joined_decisions(atoms: Sequence[Atom]) -> Decisions:
    """Returns the decisions that consist of single ones."""
    decisions: Decisions = {}
    functions: dict[str, list[str]] = {}
    for kind, text in atoms:
        if kind == "functions":
            index, _, name = text.partition("=")
            functions.setdefault(index, []).append(name)
        else:
            decisions.setdefault(kind, []).append(text)
    if functions:
        decisions["functions"] = _texts_of(functions.items())
    return decisions


def decision_names(decisions: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the single decisions as lock files and reports name them, with their kinds."""
    return {f"{kind}: {text}" for kind, text in single_decisions(decisions)}
