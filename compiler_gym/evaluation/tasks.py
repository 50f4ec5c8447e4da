"""The evaluation of a policy on a program, as a task of a pool."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, digest_of, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.evaluation.rows import NOT_CHECKED, cost_ratio, output_of
from compiler_gym.tuning.policies.policy import COST, Levels, Policy, level_costs

_FORMAT = 2


@dataclass(frozen=True)
class PolicyEvaluation:
    """The evaluation of a policy on a program.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
        policy: The hash of the policy's file, which is data of the job too.
        check: Whether to run the program before and after. Then the node looks it up in its own
            datasets, which know what it prints.
    """

    program: str
    message: str
    policy: str
    check: bool

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"evaluation": _FORMAT, **asdict(self)})

    @classmethod
    def job(cls, program: Program, policy_file: bytes, check: bool) -> Job:
        """Returns an evaluation with its data.

        Args:
            program: The program.
            policy_file: The file of the policy.
            check: Whether to run the program.
        """
        policy = digest_of(policy_file)
        return Job(
            cls(program.uri, program.message, policy, check),
            {program.message: program.data, policy: policy_file},
        )

    def run(self, worker: Worker) -> dict[str, Any]:
        """Plays an episode.

        Returns:
            IR instructions without optimisation (``O0``), with ``Oz``, with -Oz after marking every
            function (``marked_Oz``; None if that fails) and with the policy (``policy``); its
            ``ratio`` and ``marked_ratio`` to these, the ``passes``, how many were ``tried``, and
            whether the ``output`` of the program is the same.

        Raises:
            LookupError: If there is no such pass.
            ServiceError: If the program cannot be compiled.
        """
        env = worker.env("llvm-v0", {})
        looks_up = self.check and not self.program.startswith("file://")
        env.reset(benchmark=self.program if looks_up else worker.program(self.message))
        before, oz = (int(env.observation[f"{COST}{level}"]) for level in ("O0", "Oz"))
        levels = level_costs(env)
        marked = levels.get(Levels.of(env).marked_oz)
        choice = Policy.from_json(worker.blob(self.policy)).play(env, levels)
        return {
            "uri": self.program,
            "O0": before,
            "Oz": oz,
            "marked_Oz": marked,
            "policy": choice.cost,
            "ratio": cost_ratio(choice.cost, oz),
            "marked_ratio": None if marked is None else cost_ratio(choice.cost, marked),
            "tried": choice.tried,
            "passes": list(choice.sequence),
            "output": output_of(env) if self.check else NOT_CHECKED,
        }
