"""Generates the pages of environments from the environments themselves.

A page in ``docs/environments`` may hold comments such as ``<!-- rewards of gcc-v0 -->``. Each is
replaced by a table: ``facts``, ``actions``, ``observations``, ``rewards``, ``arguments`` or
``programs``.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import compiler_gym
from compiler_gym.cli.describe import describe_space
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.registration import spec_of

MARK = re.compile(r"^<!-- (\w+) of ([\w-]+) -->$", re.M)

# The ids that share the page of another one, apart from their defaults.
VARIANTS = [
    id
    for id in compiler_gym.COMPILER_GYM_ENVS
    if re.fullmatch(r"llvm-(?!v0|inline|regalloc|pieces).*", id)
]


def write_environment_pages(folder: Path) -> None:
    """Completes the pages in a folder, and adds one for each id that has none.

    Args:
        folder: A copy of ``docs/environments``.
    """
    tables = Tables()
    template = (folder / "variant.md").read_text(encoding="utf-8")
    (folder / "variant.md").unlink()
    for id in VARIANTS:
        (folder / f"{id}.md").write_text(template.replace("ID", id), encoding="utf-8")
    for page in folder.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(MARK.sub(lambda mark: tables.of(mark[1], mark[2]), text), encoding="utf-8")
    tables.close()


class Tables:
    """Tables about environments, each of which is started once."""

    def __init__(self) -> None:
        self._envs: dict[str, CompilerEnv] = {}

    def of(self, kind: str, id: str) -> str:
        """Returns the table of a kind about an environment, in Markdown."""
        if id not in self._envs:
            self._envs[id] = compiler_gym.make(id)
        return _TABLES[kind](id, self._envs[id])

    def close(self) -> None:
        """Closes the environments."""
        for env in self._envs.values():
            env.close()


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Returns a table in Markdown. A bar inside of a cell is escaped."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def _facts(id: str, env: CompilerEnv) -> str:
    spec = spec_of(id)
    learner = {**spec.kwargs, **spec.gymnasium_kwargs}
    spaces = ", ".join(f"`{space.name}` ({space.n})" for space in env.action_spaces)
    if len(env.action_spaces) > 1:
        spaces += "; the first is the default"
    chosen = env.observation.spaces[learner["observation_space"]]
    rows = [
        ("Import", f'`gymnasium.make("{id}")` or `compiler_gym.make("{id}")`'),
        ("Action spaces" if len(env.action_spaces) > 1 else "Action space", spaces),
        ("Observation", f"`{chosen.id}`, {describe_space(chosen.space)}"),
        ("Reward", f"`{learner['reward_space']}`"),
        ("Default program", f"`{env.benchmark}`"),
        ("Compiler", env.compiler_version),
        ("Deterministic", "no, times are measured" if spec.nondeterministic else "yes"),
    ]
    if "observation_space" not in spec.kwargs:
        both = "reward_space" not in spec.kwargs
        chosen_alone = "this observation" + " and this reward" * both
        rest = "neither" if both else "none"
        note = f"`gymnasium.make()` alone chooses {chosen_alone}; `compiler_gym.make()` chooses "
        rows.append(("Note", note + rest))
    return "```{table}\n:class: facts\n\n" + markdown_table(("", ""), rows) + "```\n"


def _actions(id: str, env: CompilerEnv) -> str:
    parts = []
    for space in env.action_spaces:
        texts = getattr(space, "descriptions", None)
        names = list(space.names)
        if texts is None or len(names) > 400:
            listing = f"compiler-gym describe {id} actions --action-space {space.name}"
            parts.append(f"`{space.name}` has {len(names)} actions. To list them:\n")
            parts.append(f"```sh\n{listing}\n```\n")
            continue
        rows = [
            (number, f"`{name}`", text)
            for number, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
        parts.append(f":::{{dropdown}} {space.name}: {len(names)} actions\n")
        parts.append(markdown_table(("Number", "Action", "Effect"), rows) + "\n:::\n")
    return "\n".join(parts)


def _observations(id: str, env: CompilerEnv) -> str:
    del id
    rows = [
        (
            f"`{spec.id}`",
            describe_space(spec.space),
            "yes" if spec.deterministic else "no",
            "yes" if spec.platform_dependent else "no",
        )
        for spec in env.observation.spaces.values()
    ]
    return markdown_table(("Observation", "Type", "Deterministic", "Platform dependent"), rows)


def _rewards(id: str, env: CompilerEnv) -> str:
    del id
    rows = [
        (
            f"`{space.name}`",
            (inspect.getdoc(type(space)) or "").partition("\n")[0],
            f"{space.range[0]:g} to {space.range[1]:g}",
            "yes" if space.deterministic else "no",
        )
        for space in env.reward.spaces.values()
    ]
    return markdown_table(("Reward", "Value of a step", "Range", "Deterministic"), rows)


def _arguments(id: str, env: CompilerEnv) -> str:
    texts: dict[str, str] = {}
    for kind in reversed(type(env).__mro__):
        texts |= documented_arguments(inspect.getdoc(kind) or "")
    names: dict[str, inspect.Parameter] = {}
    for kind in type(env).__mro__:
        for name, parameter in inspect.signature(kind.__init__).parameters.items():
            if name != "self" and parameter.kind not in (
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            ):
                names.setdefault(name, parameter)
        if kind.__name__ == "ClientServiceCompilerEnv":
            break
    given = spec_of(id).kwargs
    rows = [
        (f"`{name}`", f"`{given.get(name, default_of(parameter))!r}`", texts[name])
        for name, parameter in names.items()
        if name in texts
    ]
    return markdown_table(("Argument", "Default", "Meaning"), rows)


def default_of(parameter: inspect.Parameter) -> Any:
    """Returns the default of a parameter; None if it has none."""
    return None if parameter.default is parameter.empty else parameter.default


def documented_arguments(docstring: str) -> dict[str, str]:
    """Returns the texts about arguments in a docstring, with Markdown in place of roles."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)*)", docstring + "\n", re.M)
    if not section:
        return {}
    found = re.findall(r"^    (\w+): ((?:.*\n)(?:     .*\n|\n)*)", section[1], re.M)
    return {name: _markdown(" ".join(text.split())) for name, text in found}


def _markdown(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


def _programs(id: str, env: CompilerEnv) -> str:
    del id
    rows = [
        (f"`{each.name}`", each.description, each.license, "yes" if each.installed else "no")
        for each in sorted(env.datasets, key=lambda each: (not each.installed, each.name))
        if not each.deprecated
    ]
    return markdown_table(("Dataset", "Programs", "Licence", "Ready without download"), rows)


_TABLES: dict[str, Callable[[str, CompilerEnv], str]] = {
    "facts": _facts,
    "actions": _actions,
    "observations": _observations,
    "rewards": _rewards,
    "arguments": _arguments,
    "programs": _programs,
}
