"""The loop service: how often loops are unrolled, and how wide they are vectorised."""

from compiler_gym.service.proto import ActionSpace, NamedDiscreteSpace, Space
from compiler_gym.service.runtime import create_and_run_compiler_gym_service
from examples.loop_services.loop_session import LoopSession

FACTORS = (2, 4, 8, 16, 32)


class LoopsSession(LoopSession):
    """Unrolls and vectorises the loops of programs in C."""

    choices = (
        *(("-passes=function(loop-unroll)", f"-unroll-count={factor}") for factor in FACTORS),
        *(
            ("-passes=function(loop-vectorize,instcombine)", f"-force-vector-width={factor}")
            for factor in FACTORS
        ),
    )
    action_spaces = (
        ActionSpace(
            name="loops",
            space=Space(
                named_discrete=NamedDiscreteSpace(
                    name=[f"{what}-{n}" for what in ("unroll", "vectorize") for n in FACTORS]
                )
            ),
        ),
    )


if __name__ == "__main__":
    create_and_run_compiler_gym_service(LoopsSession)
