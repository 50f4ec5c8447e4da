"""Limits on the requests of agents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on one workbench.

    Attributes:
        answer_characters: Length of an answer, without the line about the rest.
        summary_characters: Length of a summary; four characters are about one token.
        source_bytes: Size of a program as text.
        file_bytes: Size of a program in a file.
        instructions: IR instructions of a program, also while it is optimised.
        actions: Passes of a branch.
        sequences: Sequences of one trial.
        branches: Branches at a time.
        step_seconds: Time for one pass.
        call_seconds: Time for the passes of one request.
        compile_seconds: Time to compile a source.
        run_seconds: Time for each run of the program.
        session_mib: Memory of a session of the compiler.
    """

    answer_characters: int = 8_000
    summary_characters: int = 1_200
    source_bytes: int = 1 << 20
    file_bytes: int = 64 << 20
    instructions: int = 500_000
    actions: int = 1_000
    sequences: int = 64
    branches: int = 16
    step_seconds: float = 30
    call_seconds: float = 120
    compile_seconds: float = 60
    run_seconds: float = 10
    session_mib: int = 2_048
