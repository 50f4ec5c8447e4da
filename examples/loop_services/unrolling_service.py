"""The unrolling service: whether loops are unrolled, and how often."""

from compiler_gym.service.proto import ActionSpace, NamedDiscreteSpace, Space
from compiler_gym.service.runtime import create_and_run_compiler_gym_service
from examples.loop_services.loop_session import LoopSession

FACTORS = (2, 4, 8)
NAMES = [f"unroll-{factor}" for factor in FACTORS]


class UnrollingSession(LoopSession):
    """Unrolls the loops of programs in C."""

    choices = tuple(
        ("-passes=function(loop-unroll)", f"-unroll-count={factor}") for factor in FACTORS
    )
    action_spaces = (
        ActionSpace(name="unrolling", space=Space(named_discrete=NamedDiscreteSpace(name=NAMES))),
    )


if __name__ == "__main__":
    create_and_run_compiler_gym_service(UnrollingSession)
