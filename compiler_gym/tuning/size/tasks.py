"""The search for a smaller object file of one source, as a task of a pool."""

import tempfile
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from compiler_gym.distributed.task import name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.minimise import ENDS
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import shipped_ranking
from compiler_gym.tuning.size.safety import NO_LIMITS, Limits
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools

_FORMAT = 2


@dataclass(frozen=True)
class Optimized:
    """The result of a search.

    Attributes:
        change: The change that makes the smallest object file.
        digest: The digest of that object file.
        before: The size of clang's object file, in the unit of the objective.
        after: The size of the smallest.
        evaluations: How often clang was run.
        is_cut: Whether the time limit ended the search.
    """

    change: Change
    digest: str
    before: int
    after: int
    evaluations: int
    is_cut: bool


@dataclass(frozen=True)
class Optimization:
    """The search for a smaller object file.

    Attributes:
        name_of_file: The name of the preprocessed source, which tells its language.
        text: The digest of the preprocessed source, which is data of the job.
        options: The options of clang.
        objective: The objective.
        seconds: The time limit.
        evaluations: The maximum number of runs of clang with changes; None for any number.
        with_experimental: Whether to use experimental options.
        may_drop_weak: Whether weak symbols that clang's object file exports may be missing.
        limits: The decisions that are excluded.
    """

    name_of_file: str
    text: str
    options: tuple[str, ...]
    objective: Objective
    seconds: float
    evaluations: int | None
    with_experimental: bool
    may_drop_weak: bool
    limits: Limits = NO_LIMITS

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"optimization": _FORMAT, **asdict(self), "seconds": str(self.seconds)})

    def run(self, worker: Worker) -> Optimized:
        """Searches.

        Raises:
            BenchmarkInitError: If the source does not compile.
            EnvironmentNotSupported: If the node has no clang.
            ValueError: If an option has no place in the compilation of one source.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            source = Path(name) / self.name_of_file
            source.write_bytes(worker.blob(self.text))
            clang, plugin = llvm_tools.clang_path(), llvm_tools.own_passes_path()
            compilation = Compilation(clang, source, self.options, plugin, self.limits)
            with Evaluator(
                compilation,
                Path(name),
                Budget(self.seconds, self.evaluations, ENDS),
                trial=trial_linker(self.options),
                read=self.objective.read,
                may_drop_weak=self.may_drop_weak,
            ) as evaluator:
                search = Optimizer(
                    evaluator,
                    self.objective,
                    with_experimental=self.with_experimental,
                    ranking=shipped_ranking(),
                )
                search.start()
                search.run()
                search.minimise(with_costs=False)
        return Optimized(
            search.best.change,
            search.best.object.digest,
            search.size(search.baseline),
            search.size(search.best),
            evaluator.budget.used,
            evaluator.budget.is_cut,
        )
