"""A player of an environment, which records the effect of each step and can undo steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler_gym.util.sequence_reducer import reductions

if TYPE_CHECKING:
    from compiler_gym.datasets import Benchmark
    from compiler_gym.envs.compiler_env import CompilerEnv

_COUNT = "IrInstructionCount"
_COUNT_OZ = "IrInstructionCountOz"
_HASH = "IrSha1"


@dataclass(frozen=True)
class Step:
    """The effect of a step.

    Attributes:
        action: Its action.
        name: The name of the action.
        changed: True if it changed the program.
        reward: Its reward; None without a reward space.
        count: The number of instructions afterwards; None if unknown.
    """

    action: int
    name: str
    changed: bool
    reward: float | None
    count: int | None


class Player:
    """Plays an episode, and begins others.

    Args:
        env: The environment; an episode of it begins.
        program: The benchmark of the episode; None for that of the environment.

    Attributes:
        env: The environment.
        steps: The steps of the episode.
        benchmark: The program of it.
        has_ended: Whether the last step was the natural end of the episode.
    """

    def __init__(self, env: "CompilerEnv", program: Any = None):
        self.env = env
        self.steps: list[Step] = []
        self.benchmark: Benchmark | None = None
        self.has_ended = False
        self.begin(program)

    def begin(self, program: Any = None) -> None:
        """Begins an episode with a program, by default the current one.

        Raises:
            Exception: Any error of ``env.reset()``. The current episode continues then.
        """
        try:
            self.env.reset(benchmark=self.benchmark if program is None else program)
        except Exception:
            if self.benchmark is not None:
                self._restore()
            raise
        self.benchmark = self.env.benchmark
        self.steps = []
        self.has_ended = False

    def play(self, action: int) -> Step:
        """Makes a step.

        Raises:
            ValueError: If the compiler fails, and the step is then undone; or if the episode has
                ended.
        """
        name = self.short_name(action)
        if self.has_ended:
            raise ValueError("The episode has ended. Undo steps, or reset")
        _, reward, done, info = self.env.step(action)
        if "error_type" in info:
            self._restore()
            raise ValueError(
                f"{name} failed, and is taken back: {info['error_type']}: {info['error_details']}"
            )
        self.has_ended = done
        step = Step(action, name, not info["action_had_no_effect"], reward, self.count())
        self.steps.append(step)
        return step

    def undo(self, count: int = 1) -> list[Step]:
        """Undoes the last steps, and returns them."""
        kept = max(0, len(self.steps) - count)
        self.steps, undone = self.steps[:kept], self.steps[kept:]
        self._restore()
        return undone

    def replace_steps(self, actions: Iterable[int]) -> None:
        """Restarts the episode, and makes other steps."""
        self.begin()
        for action in actions:
            self.play(action)

    def _restore(self) -> None:
        """Restores the state after the recorded steps."""
        self.env.reset(benchmark=self.benchmark)
        self.has_ended = False
        if self.steps:
            self.has_ended = self.env.multistep([step.action for step in self.steps])[2]

    def resume(self) -> None:
        """Comes back to after the steps that there are, if something was interrupted."""
        self.env.close()
        self._restore()

    def count(self) -> int | None:
        """Returns the current number of instructions, if known."""
        if _COUNT not in self.env.observation.spaces:
            return None
        return int(self.env.observation[_COUNT])

    def count_of_oz(self) -> int | None:
        """Returns the number of instructions with -Oz, if known."""
        if _COUNT_OZ not in self.env.observation.spaces:
            return None
        return int(self.env.observation[_COUNT_OZ])

    def diff(self, steps: int = 1) -> Iterator[str]:
        """Returns the lines of a diff of the program from before the last steps to now."""
        from compiler_gym.envs.llvm.display import diff_of_ir, ir_before

        return diff_of_ir(ir_before(self.env, steps), self.env.observation["Ir"])

    def rewards_of_all_actions(self) -> Iterator[tuple[int, float | None]]:
        """Yields each action and its reward in the current state; None if the compiler fails."""
        for action in range(self.env.action_space.n):
            with self.env.fork() as clone:
                _, reward, done, _ = clone.step(action)
            yield action, None if done or reward is None else float(reward)

    def shorter(self) -> list[int]:
        """Returns the necessary actions, which make the same program."""
        wanted = self.env.observation[_HASH]
        actions = [step.action for step in self.steps]
        with self.env.fork() as clone:

            def makes_the_same(some: list[int]) -> bool:
                clone.reset(benchmark=self.benchmark)
                (found,), _, done, _ = clone.multistep(some, observation_spaces=[_HASH])
                return not done and found == wanted

            return [actions, *reductions(actions, makes_the_same)][-1]

    def short_name(self, action: int) -> str:
        """Returns the shortest name of an action: ``sroa`` of ``function(sroa)``."""
        from compiler_gym.envs.llvm.llvm_command_line import short_name

        space = self.env.action_space
        return short_name(space, space.names[action])

    def action_names(self) -> list[str]:
        """Returns the shortest name of each action."""
        return [self.short_name(action) for action in range(self.env.action_space.n)]
