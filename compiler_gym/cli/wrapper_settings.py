"""The settings of ``compiler-gym-cc``: environment variables, and own arguments that set them."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.tuning.size.safety import MAX_STACK_GROWTH as DEFAULT_STACK_GROWTH
from compiler_gym.tuning.size.safety import Kind, Limits, limits_of
from compiler_gym.util.environment_variables import PREFIX

if TYPE_CHECKING:
    from compiler_gym.tuning.size.optimizer import Advice

EVALUATIONS, BUDGET, OBJECTIVE, EXPERIMENTAL, POLICY, LEVEL = (
    PREFIX + name
    for name in ("EVALUATIONS", "BUDGET", "OBJECTIVE", "EXPERIMENTAL", "POLICY", "LEVEL")
)
LOG, LOCK, FROZEN, RECORD = (PREFIX + name for name in ("LOG", "LOCK", "FROZEN", "RECORD"))
MEMORY, DROP_WEAK_SYMBOLS = PREFIX + "MEMORY", PREFIX + "DROP_WEAK_SYMBOLS"
SOLE = PREFIX + "SOLE"
ONE_RUN = PREFIX + "ONE_RUN"
EXCLUDE, EXCLUDE_FROM, WITHOUT, MAX_STACK_GROWTH = (
    PREFIX + name for name in ("EXCLUDE", "EXCLUDE_FROM", "WITHOUT", "MAX_STACK_GROWTH")
)
"""The names of the environment variables."""

SETTINGS = PREFIX + "BUILD"
"""An environment variable with others as a JSON object, which makefiles do not replace."""

CACHE_KEY = "--cache-key"
"""An argument that prints a digest of the settings and the compiler, for caches of object files."""

REGALLOC = "regalloc="
"""The beginning of a policy that is a file with decisions of the register allocator."""

LEVELS = ("-Os", "-Oz")
"""The levels of optimisation for size."""

PRINT_FLAGS = "--print-one-run-flags"
"""The argument that prints the options of clang for one run."""

OWN_HELP = f"""
OPTIONS OF compiler-gym-cc AND compiler-gym-c++:
  --one-run               Run clang once, with the plugin that makes its code smaller. No search
  --one-run=verify        Run clang without and with the plugin, and keep the smaller object file
  {PRINT_FLAGS}
                          Print the options of clang for --one-run
  --lock <file>           Take what this file has for a source, and note there what a search finds
  --frozen                Fail if the lock file has no entry for a source
  --policy <name>         Try the sequences of this policy first
  {CACHE_KEY}             Print a digest of the settings and the compiler, for caches

The variables COMPILER_GYM_EVALUATIONS, COMPILER_GYM_LOG and others are on the page
"Smaller binaries".
"""
"""The part of ``--help`` that follows that of clang."""

VERIFY = "verify"
"""The value of ``COMPILER_GYM_ONE_RUN`` that keeps the smaller result of two runs of clang."""

_OF_SEARCHES = (LOCK, FROZEN, POLICY, EXCLUDE, EXCLUDE_FROM, WITHOUT)
_DEFAULT_EVALUATIONS = 40
_UNIT_OBJECTIVES = ("all", "text", "instructions")
_WHOLE = ", for which see `compiler-gym optimize --objective {}`"
_NOT_OF_A_UNIT = {
    "linked": "the size of a program is known when all of it is linked" + _WHOLE.format("linked"),
    "region": "the use of memory is known when all of it is linked" + _WHOLE.format("region:NAME"),
    "runtime": "one source is no program that could be run" + _WHOLE.format("runtime"),
}


class WrongSettingError(ValueError):
    """An environment variable has a wrong value. The text has the reason."""


def take_own_words(words: Sequence[str]) -> list[str]:
    """Returns the arguments for clang. Arguments of this program become variables.

    Raises:
        WrongSettingError: If there is no value after ``--lock`` or ``--policy``, or a wrong one
            after ``--one-run``.
    """
    rest, kept = iter(words), []
    for word in rest:
        if word == "--lock" or word.startswith("--lock="):
            path = word.partition("=")[2] or next(rest, "")
            if not path:
                raise WrongSettingError("expected a file after --lock, got nothing")
            os.environ[LOCK] = os.path.abspath(path)
        elif word == "--policy" or word.startswith("--policy="):
            policy = word.partition("=")[2] or next(rest, "")
            if not policy:
                raise WrongSettingError("expected a policy after --policy, got nothing")
            if policy.startswith(REGALLOC):
                policy = REGALLOC + os.path.abspath(policy.removeprefix(REGALLOC))
            os.environ[POLICY] = policy
        elif word == "--frozen":
            os.environ[FROZEN] = "1"
        elif word == "--one-run":
            os.environ[ONE_RUN] = "1"
        elif word == f"--one-run={VERIFY}":
            os.environ[ONE_RUN] = VERIFY
        elif word.startswith("--one-run"):
            raise WrongSettingError(f"expected --one-run or --one-run={VERIFY}, got {word}")
        else:
            kept.append(word)
    return kept


def level() -> str | None:
    """Returns the level that replaces the level of every command, or None.

    Raises:
        WrongSettingError: If it is not a level for size.
    """
    wanted = os.environ.get(LEVEL) or None
    if wanted and wanted not in LEVELS:
        raise WrongSettingError(f"{LEVEL} is {wanted!r}, but has to be {' or '.join(LEVELS)}")
    return wanted


def objective() -> str:
    """Returns the objective.

    Raises:
        WrongSettingError: If it needs more than one source.
    """
    wanted = os.environ.get(OBJECTIVE) or _UNIT_OBJECTIVES[0]
    if wanted not in _UNIT_OBJECTIVES:
        why = _NOT_OF_A_UNIT.get(wanted.partition(":")[0], "there is no such objective")
        *first, last = _UNIT_OBJECTIVES
        names = f"{', '.join(first)} or {last}"
        raise WrongSettingError(f"{OBJECTIVE} is {wanted!r}, but has to be {names}: {why}")
    return wanted


def with_experimental() -> bool:
    """Returns true if experimental options are enabled.

    Raises:
        WrongSettingError: If the variable is neither 0 nor 1.
    """
    return _is_on(EXPERIMENTAL, "0")


def with_memory() -> bool:
    """Returns true if searches begin with the decisions for a former version of a source.

    Raises:
        WrongSettingError: If the variable is neither 0 nor 1.
    """
    return _is_on(MEMORY, "1")


def may_drop_weak() -> bool:
    """Returns true if object files may lack weak symbols that clang's export.

    Raises:
        WrongSettingError: If the variable is neither 0 nor 1.
    """
    return _is_on(DROP_WEAK_SYMBOLS, "0")


def sole_groups() -> frozenset[str]:
    """Returns the groups of sections that no other object file of the build has."""
    path = os.environ.get(SOLE)
    return frozenset(Path(path).read_text(encoding="utf-8").splitlines()) if path else frozenset()


def evaluations() -> int:
    """Returns the number of evaluations for a source.

    Raises:
        WrongSettingError: If it is not a number.
    """
    return _number(EVALUATIONS, _DEFAULT_EVALUATIONS)


def limits() -> Limits:
    """Returns the decisions that are excluded.

    Raises:
        WrongSettingError: If a name or a kind of decisions is wrong, or a list cannot be read.
    """
    growth = _number(MAX_STACK_GROWTH, DEFAULT_STACK_GROWTH)
    wanted, excluded, lists = (
        [word for word in os.environ.get(name, "").split(separator) if word]
        for name, separator in ((WITHOUT, ","), (EXCLUDE, ","), (EXCLUDE_FROM, os.pathsep))
    )
    kinds = [each.value for each in Kind]
    if unknown := [word for word in wanted if word not in kinds]:
        expected = ", ".join(kinds)
        raise WrongSettingError(f"{WITHOUT}: expected some of {expected}, got {unknown[0]!r}")
    try:
        return limits_of(excluded, map(Path, lists), [*map(Kind, wanted)], growth)
    except (OSError, ValueError) as error:
        raise WrongSettingError(f"{EXCLUDE}, {EXCLUDE_FROM}: {error}") from error


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal():
        raise WrongSettingError(f"{variable}: expected a number such as {default}, got {text!r}")
    return int(text)


def seconds() -> float:
    """Returns the time limit for a source; infinity if there is none.

    Raises:
        WrongSettingError: If it is not a time.
    """
    if not os.environ.get(BUDGET):
        return math.inf
    from compiler_gym.cli.options import parse_duration

    try:
        return parse_duration(os.environ[BUDGET])
    except ValueError as error:
        raise WrongSettingError(f"{BUDGET}: {error}") from error


def advice() -> "Advice | None":
    """Returns the policy that orders sequences of passes, or None.

    Raises:
        WrongSettingError: If the policy does not exist.
    """
    if not os.environ.get(POLICY):
        return None
    from compiler_gym.tuning.policies.policy import Policy

    try:
        return Policy.load(os.environ[POLICY]).sequences_for
    except (OSError, ValueError) as error:
        raise WrongSettingError(f"{POLICY}: {error}") from error


def one_run() -> str:
    """Returns ``"1"`` to run clang once with the plugin, ``"verify"`` to keep the smaller result.

    Empty for a search.

    Raises:
        WrongSettingError: If the variable has another value, or with settings of a search.
    """
    wanted = os.environ.get(ONE_RUN) or "0"
    if wanted not in ("0", "1", VERIFY):
        raise WrongSettingError(f"{ONE_RUN} is {wanted!r}; expected 0, 1 or {VERIFY}")
    if wanted == "0":
        return ""
    if others := [name for name in _OF_SEARCHES if os.environ.get(name)]:
        raise WrongSettingError(
            f"expected {ONE_RUN} or {others[0]}, got both: only searches use the latter"
        )
    return wanted


def lock_path() -> Path:
    """Returns the path of the lock file.

    Raises:
        WrongSettingError: If there is none, or it is not absolute.
    """
    path = os.environ.get(LOCK)
    if not path:
        raise WrongSettingError(f"{FROZEN} needs a lock file: set {LOCK}, or say --lock FILE")
    if not os.path.isabs(path):
        raise WrongSettingError(
            f"{LOCK}: expected an absolute path, got {path!r}; builds change folders: try "
            f"{os.path.abspath(path)}"
        )
    return Path(path)


def _is_on(variable: str, default: str) -> bool:
    wanted = os.environ.get(variable) or default
    if wanted not in ("0", "1"):
        raise WrongSettingError(f"{variable} is {wanted!r}; expected 0 or 1")
    return wanted == "1"
