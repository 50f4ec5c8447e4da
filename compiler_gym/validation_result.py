"""The result of validating a state."""

from collections import Counter
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.errors import ValidationError

# The maximum number of kinds of errors in a summary.
_MAX_KINDS = 3

# The maximum number of characters of the reason in a line about a result.
_MAX_REASON = 300


class ValidationResult(BaseModel):
    """The result of validating a state. Comparison ignores wall times."""

    model_config = ConfigDict(extra="forbid")

    state: CompilerEnvState
    """The state that was validated."""

    walltime: float = Field(default=0, ge=0)
    """How long the validation took, in seconds."""

    reward_validated: bool = False
    """Whether the reward was compared with that of a replay of the actions."""

    actions_replay_failed: bool = False
    """Whether the actions could not be replayed."""

    reward_validation_failed: bool = False
    """Whether the replay gave another reward."""

    benchmark_semantics_validated: bool = False
    """Whether the compiled program was run and its behaviour checked."""

    benchmark_semantics_validation_failed: bool = False
    """Whether the compiled program misbehaved."""

    errors: list[ValidationError] = Field(default_factory=list)
    """All that was wrong."""

    def okay(self) -> bool:
        """Returns true if validation found no errors."""
        return not (
            self.actions_replay_failed
            or self.reward_validation_failed
            or self.benchmark_semantics_validation_failed
        )

    @property
    def error_details(self) -> str:
        """A short summary of the errors; empty if there are none.

        Errors of a kind are counted, and no more than three kinds are named, the most frequent
        first.
        """
        if not self.errors:
            return self._failed_parts()
        kinds = Counter(error.type for error in self.errors).most_common()
        texts = [f"{count} x {kind}" if count > 1 else kind for kind, count in kinds[:_MAX_KINDS]]
        if len(kinds) > _MAX_KINDS:
            texts.append(f"{len(kinds) - _MAX_KINDS} more kinds of errors")
        return ", ".join(texts)

    @classmethod
    def join(cls, results: Iterable["ValidationResult"]) -> "ValidationResult":
        """Returns the union of several validations of the same state.

        Collects all checks and all errors. Wall times add up.

        Raises:
            ValueError: There are no results, or they are of different states.
        """
        results = list(results)
        if not results:
            raise ValueError("There are no validation results to join")
        state = results[0].state
        for result in results:
            if result.state != state:
                raise ValueError(f"Validation results of different states: {result.state}, {state}")
        return cls(
            state=state,
            walltime=sum(result.walltime for result in results),
            errors=[error for result in results for error in result.errors],
            **{flag: any(getattr(result, flag) for result in results) for flag in _FLAGS},
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValidationResult):
            return NotImplemented
        return (
            self.state == other.state
            and all(getattr(self, flag) == getattr(other, flag) for flag in _FLAGS)
            and sorted(self.errors) == sorted(other.errors)
        )

    def _failed_parts(self) -> str:
        """Returns what failed, in words, for a result that has no errors listed."""
        parts = {
            "Failed to replay the actions": self.actions_replay_failed,
            "Reward differs": self.reward_validation_failed,
            "Program misbehaves": self.benchmark_semantics_validation_failed,
        }
        return ", ".join(text for text, failed in parts.items() if failed)

    def _replay_error(self) -> str:
        """Returns why the actions could not be replayed, in one line. Empty if they could."""
        details = [str(each.data.get("details", "")) for each in self.errors]
        if not self.actions_replay_failed or not details or not details[0]:
            return ""
        return f": {details[0].splitlines()[0][:_MAX_REASON]}"

    def __repr__(self) -> str:
        benchmark = self.state.benchmark.removeprefix("benchmark://")
        reward = f"  {self.state.reward:.4f}" if self.state.reward is not None else ""
        if not self.okay():
            return f"❌  {benchmark}{reward}  {self.error_details}{self._replay_error()}"
        if not self.benchmark_semantics_validated:
            return f"❔  {benchmark}{reward}  not run, so its outputs are not checked"
        return f"✅  {benchmark}{reward}"

    def __str__(self) -> str:
        return repr(self)


_FLAGS = (
    "reward_validated",
    "actions_replay_failed",
    "reward_validation_failed",
    "benchmark_semantics_validated",
    "benchmark_semantics_validation_failed",
)
