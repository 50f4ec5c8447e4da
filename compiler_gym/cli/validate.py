"""``compiler-gym validate``: checks that states are reproducible and programs work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import messages, print_json, print_line, progress_bar
from compiler_gym.cli.options import EnvOption, JsonOption, RewardOption, opened_env
from compiler_gym.util.registration import make

if TYPE_CHECKING:
    from compiler_gym.compiler_env_state import CompilerEnvState
    from compiler_gym.datasets import Benchmark, BenchmarkUri, Datasets
    from compiler_gym.envs.compiler_env import CompilerEnv
    from compiler_gym.validation_result import ValidationResult


def validate(
    files: Annotated[list[str], typer.Argument(help="CSV files of states; - for standard input.")],
    reward: RewardOption = None,
    env: EnvOption = "llvm-ic-v0",
    nproc: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of parallel validations; by default one for each processor."
        ),
    ] = None,
    sanitizer: Annotated[
        list[str] | None,
        typer.Option(
            help="Run the programs with this sanitizer of clang, too: address, memory, thread or "
            "undefined. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    inorder: Annotated[bool, typer.Option(help="Print in the order of the files.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Validate recorded states.

    A replay of a state must give the same reward and a working program.

    The exit code is 1 if any state is invalid, or a line is malformed.

    \b
    Examples:
      compiler-gym validate results.csv
      compiler-gym validate results.csv --reward ObjectTextSizeOz --json
      compiler-gym validate results.csv --sanitizer address --sanitizer memory
    """  # noqa: D301
    from compiler_gym.envs.llvm.benchmarks.sanitizers import SANITIZERS

    states, malformed = read_states(files)
    for name in sanitizer or ():
        if name not in SANITIZERS:
            raise typer.BadParameter(f"There is no sanitizer {name!r}: {', '.join(SANITIZERS)}.")

    def make_env() -> "CompilerEnv":
        made = make(env, **({} if reward is None else {"reward_space": reward}))
        if sanitizer:
            made.datasets = _sanitized_datasets(sanitizer)
        return made

    with opened_env(env, reward_space=reward) as opened:  # Report a wrong name only once.
        reward_name = opened.reward_space.name if opened.reward_space else None
    results = []
    for result in validated(make_env, states, nproc, inorder):
        results.append(result)
        if not as_json:
            print_line(str(result))
    if as_json:
        print_json([as_plain(result) for result in results])
    else:
        print_line()
        for line in summary(results, len(states), reward_name):
            print_line(line)
    if malformed or not all(result.okay() for result in results):
        raise typer.Exit(1)


def read_states(files: Sequence[str]) -> "tuple[list[CompilerEnvState], int]":
    """Reads states from files, and prints an error for each malformed line to stderr.

    Returns:
        The states, and the number of errors.

    Raises:
        ValueError: There are no states.
    """
    from compiler_gym.compiler_env_state import CompilerEnvStateReader

    errors: list[ValueError] = []
    states = list(CompilerEnvStateReader.read_paths(files, errors.append))
    for error in errors:
        messages().print(str(error), soft_wrap=True)
    if not states:
        raise ValueError(f"There are no states in {', '.join(files)}")
    return states, len(errors)


def _sanitized_datasets(sanitizers: list[str]) -> "Datasets":
    """Returns the programs of the LLVM environments, for sanitizers to check when validated."""
    from compiler_gym.envs.llvm.benchmarks.sanitizers import with_sanitizers
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets

    class SanitizedDatasets(LlvmDatasets):
        def benchmark(self, uri: "str | BenchmarkUri") -> "Benchmark":
            return with_sanitizers(super().benchmark(uri), sanitizers)

    return SanitizedDatasets(get_llvm_datasets())


def validated(
    make_env: "Callable[[], CompilerEnv]",
    states: "Iterable[CompilerEnvState]",
    nproc: int | None,
    inorder: bool,
) -> "Iterator[ValidationResult]":
    """Validates states as ``compiler_gym.validate_states()``, with progress on a terminal."""
    from compiler_gym.validate import validate_states

    states = list(states)
    with progress_bar() as progress:
        task = progress.add_task("validating", total=len(states))
        for result in validate_states(make_env, states, nproc, inorder):
            progress.update(task, advance=1)
            yield result


def as_plain(result: "ValidationResult") -> dict[str, Any]:
    """Returns a result as values for JSON."""
    return {"okay": result.okay(), **result.model_dump(mode="json")}


def summary(
    results: "list[ValidationResult]",
    count: int,
    reward: str | None,
    aggregation: str = "geomean",
) -> Iterator[str]:
    """Yields lines that sum up the validation of states.

    Args:
        results: The results so far.
        count: The number of states.
        reward: The name of the reward.
        aggregation: How rewards are averaged: ``"geomean"`` or ``"mean"``.
    """
    from compiler_gym.util.statistics import arithmetic_mean, geometric_mean, stdev

    valid = sum(result.okay() for result in results)
    times = [result.state.walltime for result in results]
    yield f"Number of validated results: {valid} of {count}"
    yield (f"Mean walltime per benchmark: {arithmetic_mean(times):.3f}s (std: {stdev(times):.3f}s)")
    rewards = [result.state.reward for result in results if result.state.reward is not None]
    if rewards and reward is not None:
        name, mean = {
            "geomean": ("Geometric mean", geometric_mean),
            "mean": ("Mean", arithmetic_mean),
        }[aggregation]
        yield f"{name} {reward}: {mean(rewards):.3f} (std: {stdev(rewards):.3f})"
