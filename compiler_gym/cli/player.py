"""A player of an environment, which records the effect of each step and can undo steps."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from compiler_gym.envs.workbench import INSTRUCTIONS, ActionFailed, Branch, Step
from compiler_gym.util.sequence_reducer import reductions

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

_COUNT_OZ = f"{INSTRUCTIONS}Oz"
_HASH = "IrSha1"


class Player(Branch["CompilerEnv"]):
    """Plays an episode, and begins others.

    Args:
        env: The environment; an episode of it begins.
        program: The benchmark of the episode; None for that of the environment.
    """

    def __init__(self, env: "CompilerEnv", program: Any = None):
        super().__init__(env)
        self.begin(program)

    def play(self, action: int) -> Step:
        """Makes a step.

        Raises:
            ValueError: If the compiler fails, and the step is then undone; or if the episode has
                ended.
        """
        name = self.short_name(action)
        if self.has_ended:
            raise ValueError("The episode has ended. Undo steps, or reset")
        try:
            return self.step(action, name)
        except ActionFailed as error:
            raise ValueError(f"{name} failed, and is taken back: {error}") from error

    def replace_steps(self, actions: Iterable[int]) -> None:
        """Restarts the episode, and makes other steps."""
        self.begin()
        for action in actions:
            self.play(action)

    def resume(self) -> None:
        """Comes back to after the steps that there are, if something was interrupted."""
        self.env.close()
        self.restore()

    def count(self) -> int | None:
        """Returns the current number of instructions, if known."""
        if INSTRUCTIONS not in self.env.observation.spaces:
            return None
        return int(self.env.observation[INSTRUCTIONS])

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
        actions = self.actions
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
