"""Generates the pages of the API reference: Python by autodoc, C++ from the headers."""

import importlib
import inspect
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

MODULES = {
    "compiler_gym": "Environments by id, programs, states",
    "compiler_gym.envs": "Environment classes",
    "compiler_gym.envs.llvm": "LLVM: environment, programs, observations without an environment",
    "compiler_gym.envs.gcc": "GCC: environment and options",
    "compiler_gym.envs.mlir": "MLIR: environment",
    "compiler_gym.spaces": "Spaces of actions, observations and rewards",
    "compiler_gym.views": "Views of observations and rewards",
    "compiler_gym.datasets": "Datasets and benchmarks",
    "compiler_gym.envs.llvm.datasets": "Datasets for LLVM",
    "compiler_gym.envs.gcc.datasets": "Datasets for GCC",
    "compiler_gym.wrappers": "Wrappers",
    "compiler_gym.vector": "Vector environments",
    "compiler_gym.random_search": "Random search",
    "compiler_gym.random_agents": "Random agents",
    "compiler_gym.errors": "Errors",
    "compiler_gym.service": "Services and connections",
    "compiler_gym.service.runtime": "Services written in Python",
    "compiler_gym.compliance": "Checks of services",
    "compiler_gym.envs.llvm.inst2vec": "inst2vec",
}

# Modules whose names are mostly those of others above, which index them.
FURTHER_MODULES = {
    "compiler_gym.agents.tasks": "Tasks for language models",
    "compiler_gym.agents.trl": "Training of language models by TRL",
    "compiler_gym.compliance.testing": "Checks of services by pytest",
    "compiler_gym.envs.llvm.llvm_benchmark": "Benchmarks for LLVM",
    "compiler_gym.envs.llvm.llvm_rewards": "Reward classes for LLVM",
    "compiler_gym.cli.entry": "The command line as a function",
    "compiler_gym.distributed": "Pools of workers",
    "compiler_gym.distributed.minari_dataset": "Recorded episodes as datasets of Minari",
    "compiler_gym.distributed.programs": "Programs for pools of workers",
    "compiler_gym.distributed.recorded_env": "Recorded episodes as an environment",
    "compiler_gym.envs.llvm.graph_tensors": "Program graphs for graph neural networks",
    "compiler_gym.envs.llvm.game_env": "Environments of single decisions of LLVM",
    "compiler_gym.envs.running_step": "Steps that are not finished yet",
    "compiler_gym.evaluation": "Evaluation of policies",
    "compiler_gym.leaderboard.llvm_instcount": "Leaderboard of LLVM instruction counts",
    "compiler_gym.openenv": "OpenEnv",
    "compiler_gym.service.connection": "Connections",
    "compiler_gym.service.service_cache": "Directories of services",
    "compiler_gym.service.proto.py_converters": "Conversion of messages",
    "compiler_gym.service.proto.type_converters": "Conversion by type",
    "compiler_gym.third_party.autophase": "Autophase",
    "compiler_gym.third_party.gccinvocation": "Command lines of GCC",
    "compiler_gym.third_party.llvm": "Tools of LLVM",
    "compiler_gym.tuning.policies.policy": "Policies for passes",
    "compiler_gym.util.commands": "Commands that end with the session",
    "compiler_gym.util.flags.benchmark_from_flags": "Benchmarks from flags",
    "compiler_gym.util.flags.env_from_flags": "Environments from flags",
    "compiler_gym.util.registration": "Registration of environments",
    "compiler_gym.util.statistics": "Comparison of runtimes",
    "compiler_gym.util.runfiles_path": "Files of the package and its services",
    "compiler_gym.vector.stable_baselines": "Vector environments for Stable-Baselines3",
}

# The names on the page of a module that declares none, or that needs a package that is optional.
NAMES = {
    "compiler_gym.leaderboard.llvm_instcount": ["eval_llvm_instcount_policy"],
    "compiler_gym.vector.stable_baselines": ["StableBaselinesVecEnv"],
}

# Base classes that are parts of a class in other modules. The page of that class has their members.
PARTS = {"ProgramEnv"}

HEADERS = {
    "compiler_gym/service/CompilationSession.h": "A compiler as a service",
    "compiler_gym/service/runtime/Runtime.h": "The main function of a service",
    "compiler_gym/service/runtime/SessionFactory.h": "Factories of sessions",
    "compiler_gym/util/Subprocess.h": "Commands that a session runs",
    "llvm_service/passes/OwnPass.h": "Passes of the project",
    "llvm_service/observations/Observation.h": "Observations",
    "llvm_service/observations/Spaces.h": "Spaces of observations",
}


def public_names(module: str) -> list[str]:
    """Returns the public names of a module, without its submodules.

    For a module without ``__all__``, these are the classes and functions that it defines.
    """
    if module in NAMES:
        return NAMES[module]
    found = importlib.import_module(module)
    defined = (name for name, value in vars(found).items() if _is_defined_in(value, module))
    names = getattr(found, "__all__", defined)
    return [name for name in names if not name.startswith("_")]


def _is_defined_in(value: Any, module: str) -> bool:
    return isinstance(value, type | FunctionType) and value.__module__ == module


def write_reference_pages(folder: Path, root: Path) -> None:
    """Writes a page for each public module and each public header.

    Args:
        folder: The folder of the pages, which exists.
        root: The folder that has the headers.
    """
    for module, title in {**MODULES, **FURTHER_MODULES}.items():
        (folder / f"{module}.rst").write_text(_module_page(module, title), encoding="utf-8")
    for header, title in HEADERS.items():
        text = (root / header).read_text(encoding="utf-8")
        name = Path(header).stem
        (folder / f"{name}.rst").write_text(_header_page(header, title, text), encoding="utf-8")
    protocol = (root / "proto/compiler_gym_service.proto").read_text(encoding="utf-8")
    (folder / "protocol.md").write_text(f"{_PROTOCOL}```protobuf\n{protocol}```\n", "utf-8")
    python = "\n".join(f"   {module}" for module in (*MODULES, *FURTHER_MODULES))
    headers = "\n".join(f"   {Path(header).stem}" for header in HEADERS)
    (folder / "python.rst").write_text(_index("Python API", python, _PYTHON), encoding="utf-8")
    (folder / "cpp.rst").write_text(_index("C++ API", headers, _CPP), encoding="utf-8")


_PYTHON = "Every public name, by module. The types are those that mypy checks."
_PROTOCOL = """# Protocol of services

The messages and calls between a client and a service, over gRPC. `compiler_gym.service.proto` has
them as Python classes, and the SDK as C++ classes.

"""
_CPP = "The headers for authors of compilers, passes and observations."


def _index(title: str, entries: str, text: str) -> str:
    return f"{_heading(title)}\n{text}\n\n.. toctree::\n   :maxdepth: 1\n\n{entries}\n"


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _module_page(module: str, title: str) -> str:
    names = public_names(module)
    entries = "\n".join(f"{_directive(module, name)}\n" for name in names)
    return (
        f"{_heading(title)}\n.. automodule:: {module}\n   :no-members:\n\n"
        f".. code-block:: python\n\n   import {module}\n\n.. currentmodule:: {module}\n\n{entries}"
    )


def _directive(module: str, name: str) -> str:
    elsewhere = module != MODULE_OF_PAGE.get(name, module)
    bases = _bases_behind_parts(module, name)
    return (
        f".. auto{_kind(module, name)}:: {module}.{name}\n"
        + ("   :no-index:\n" if elsewhere else "")
        + (f"   :inherited-members: {', '.join(bases)}\n" if bases else "")
    )


def _bases_behind_parts(module: str, name: str) -> list[str]:
    """Returns the base classes of a class without its parts; nothing if it has none."""
    value = None if module in NAMES else getattr(importlib.import_module(module), name)
    bases = [base.__name__ for base in value.__mro__[1:]] if isinstance(value, type) else []
    own = [*itertools.takewhile(PARTS.__contains__, bases)]
    return bases[len(own) :] if own else []


def _kind(module: str, name: str) -> str:
    if module in NAMES:
        return "class" if name[0].isupper() else "function"
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def _pages_of_names() -> dict[str, str]:
    """Returns the module on whose page a name is indexed: the last main module that exports it."""
    pages: dict[str, str] = {}
    for module in MODULES:
        for name in public_names(module):
            pages[name] = module
    for module in FURTHER_MODULES:
        for name in public_names(module):
            pages.setdefault(name, module)
    return pages


MODULE_OF_PAGE = _pages_of_names()


class Declaration(NamedTuple):
    """A declaration in a header, with the comment in front of it."""

    text: str
    comment: str
    owner: str


_COMMENT = re.compile(r"^\s*///? ?(.*)$")
_SKIPPED = ("#", "namespace", "using namespace", "}", "public:", "protected:", "private:")


def declarations(text: str) -> list[Declaration]:
    """Returns the documented public declarations of a header, in order.

    Understands what clang-format leaves of this project's headers: a comment directly in front of
    a declaration, which ends with ``;`` or ``{``.
    """
    found: list[Declaration] = []
    comment: list[str] = []
    owner, private = "", False
    lines = iter(text.splitlines())
    for line in lines:
        stripped = line.strip()
        if match := _COMMENT.match(line):
            comment.append(match[1])
        elif stripped == "private:":
            private = True
        elif stripped == "};" and not line.startswith(" "):
            owner, private, comment = "", False, []
        elif not stripped or stripped.startswith(_SKIPPED):
            comment = []
        else:
            declaration = _complete(stripped, lines)
            if comment and not private:
                found.append(Declaration(_clean(declaration), "\n".join(comment), owner))
            kind = re.match(r"(?:class|struct) (\w+)[^;]*\{$", declaration)
            if kind and not line.startswith(" "):
                owner = kind[1]
            elif not kind:
                _skip_body(declaration, lines)
            comment = []
    return found


def _complete(first: str, lines: Iterator[str]) -> str:
    """Returns a declaration that may go on in the next lines."""
    parts = [first]
    while not re.search(r"[;{}]$", parts[-1]):
        following = next(lines, None)
        if following is None:
            break
        parts.append(following.strip())
    return " ".join(parts)


def _skip_body(declaration: str, lines: Iterator[str]) -> None:
    depth = declaration.count("{") - declaration.count("}")
    while depth > 0:
        following = next(lines, "}")
        depth += following.count("{") - following.count("}")


def _clean(declaration: str) -> str:
    text = re.sub(r"\[\[\w+\]\] ", "", declaration)
    text = re.sub(r"(;| \{| \{ .*\})$", "", text)
    text = re.sub(r" = \{[^}]*\}", "", text)  # Sphinx does not parse these defaults.
    return re.sub(r"^(class|struct) (\w+) final", r"\1 \2", text)


def _header_page(header: str, title: str, text: str) -> str:
    scope = re.search(r"^namespace ([\w:]+) \{", text, re.M)
    namespace = f".. cpp:namespace:: {scope[1]}\n\n" if scope else ""
    include = f".. code-block:: cpp\n\n   #include <{header}>\n"
    entries = "\n".join(map(_entry, declarations(text)))
    return f"{_heading(title)}\n{include}\n{namespace}{entries}"


def _entry(declaration: Declaration) -> str:
    kind, text = _cpp_kind(declaration.text)
    margin = "   " if declaration.owner else ""
    body = "\n".join(f"{margin}   {line}".rstrip() for line in _rst(declaration.comment))
    return f"{margin}.. cpp:{kind}:: {text}\n\n{body}\n"


def _cpp_kind(text: str) -> tuple[str, str]:
    if match := re.match(r"(class|struct|enum class) (.*)", text):
        return match[1].replace("enum class", "enum-class"), match[2].partition("{")[0].strip()
    if match := re.match(r"using (.*)", text):
        return "type", match[1]
    if text.startswith("constexpr"):
        return "member", re.sub(r"( = .*|\(.*)", "", text)
    if "(" in text:
        return "function", text
    return "member", re.sub(r" = .*", "", text)


def _rst(comment: str) -> list[str]:
    """Returns the lines of a comment as reStructuredText: indented text becomes a list or code."""
    comment = re.sub(r"`([^`]+)`", r"``\1``", comment)
    comment = re.sub(r"@t?param (\w+)", r"``\1``:", comment)
    comment = re.sub(r"(\w)_(?!\w)", r"\1\\_", comment)
    lines: list[str] = []
    inside = False
    for line in comment.splitlines():
        is_indented = line.startswith("  ")
        is_item = bool(re.match(r"\s+(- |\d+\. )", line))
        if is_indented and not inside:
            lines += [""] if is_item else ["", "::", ""]
            is_list = is_item
        elif inside and line and not is_indented:
            lines.append("")
        if is_indented or line:
            inside = is_indented
        lines.append(line.removeprefix("  ") if is_indented and is_list else line)
    return lines
