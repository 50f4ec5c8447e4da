"""The environment variables of the package, and the error for misspelt ones."""

from collections.abc import Iterable

from compiler_gym.errors.nearest_names import unknown_name

PREFIX = "COMPILER_GYM_"

UNIT_SETTINGS = tuple(
    PREFIX + name
    for name in (
        *("BUDGET", "DROP_WEAK_SYMBOLS", "EVALUATIONS", "EXPERIMENTAL", "MEMORY", "OBJECTIVE"),
        "POLICY",
    )
)
"""Variables of ``compiler-gym-cc`` that are options of ``compiler-gym optimize``."""

KNOWN = frozenset(UNIT_SETTINGS) | frozenset(
    PREFIX + name
    for name in (
        # Folders.
        *("CACHE", "LOGS", "RUNFILES", "SITE_DATA", "TRANSIENT_CACHE"),
        # Environments.
        *("ACTION_SPACE", "LLVM_VERSION"),
        # Services.
        *("DATASET_MIRROR", "DEBUG", "DIRECT_CHANNEL", "SERVICE_ARGS", "SHOW_OUTPUT"),
        *("INST2VEC_VOCABULARY", "IR2VEC_VOCABULARY", "LLVM"),
        # compiler-gym-cc.
        *("FROZEN", "LEVEL", "LOCK", "LOG", "ONE_RUN"),
        *("EXCLUDE", "EXCLUDE_FROM", "MAX_STACK_GROWTH", "WITHOUT"),
        # Set by compiler-gym build for compiler-gym-cc.
        *("BUILD", "RECORD", "SOLE"),
        # A command of a benchmark that runs with all rights.
        "CONFINED",
        # Set for programs that are loaded once and run many times.
        "STARTER",
        # Builds of the package from source, and its tests.
        *("LLVM_PREFIX", "SANITIZER", "THREAD_SANITIZER"),
        *("CONFINE", "CONFINEMENT", "EXACTNESS_SEED"),
        *("FUZZ_SECONDS", "FUZZ_SEED", "LONG_TESTS"),
    )
)
"""The names of all variables."""


def check_names(names: Iterable[str]) -> None:
    """Checks the names of environment variables with the package's prefix.

    Raises:
        UnknownNameError: If a name does not exist. The text suggests similar ones.
    """
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in KNOWN:
            raise unknown_name("environment variable", name, sorted(KNOWN))
