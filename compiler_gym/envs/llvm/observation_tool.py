"""One observation of a bitcode file, without an environment."""

import subprocess
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from compiler_gym.envs.llvm.ir2vec import ir2vec_options
from compiler_gym.errors import ServiceError
from compiler_gym.service.proto import Event, py_converters
from compiler_gym.util.commands import run_command
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.runfiles_path import find_service_binary
from compiler_gym.views import ObservationSpaceSpec

# The exit codes for arguments that are wrong: of flags, and of the rest.
_USAGE = (1, 2)


def compute_observation(
    space: str | ObservationSpaceSpec,
    bitcode_path: str | Path,
    timeout: float = TIMEOUT,
    *,
    target_triple: str | None = None,
    ir2vec_vocabulary: str | Path | None = None,
) -> Any:
    """Computes an observation of a program in a file, in a process of its own.

    >>> compute_observation("IrInstructionCount", "program.bc")
    420

    Args:
        space: The name of a space of the service, e.g. ``"InstCount"``, or a description from
            ``env.observation.spaces``, of a derived space too.
        bitcode_path: LLVM bitcode or textual IR. As in an environment, names and debug information
            are taken out before anything is computed.
        timeout: How many seconds it may take.
        target_triple: Compile for this target rather than for that which the program names.
        ir2vec_vocabulary: The file of seed vectors for the ``Ir2vec`` spaces; by default that of
            the user, see :func:`find_ir2vec_vocabulary`.

    Returns:
        The value that ``env.observation[space]`` is right after a reset.

    Raises:
        ValueError: If there is no such space or target, or the file is not a program.
        FileNotFoundError: If there is no such file.
        TimeoutError: If it takes longer.
        ServiceError: If the observation cannot be computed.
        EnvironmentNotSupported: If the program that computes it has not been built.
    """
    path = Path(bitcode_path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}")
    # A derived space is computed from that of the service of its number.
    name = space if isinstance(space, str) else f"#{space.index}"
    service = find_service_binary("compiler_gym-llvm-service")
    command: list[str | Path] = [service, "compute_observation"]
    if target_triple is not None:
        command.append(f"--target_triple={target_triple}")
    if ir2vec_vocabulary is not None:
        command.append(f"--ir2vec_vocabulary={Path(ir2vec_vocabulary).expanduser()}")
    elif str(space).startswith("Ir2vec"):
        command += ir2vec_options()
    try:
        reply = run_command([*command, name, path.absolute()], timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"Computing {space} of {path} took over {timeout:g} seconds") from error
    if reply.returncode:
        message = reply.stderr.strip() or f"compute_observation ended with {reply.returncode}"
        raise (ValueError if reply.returncode in _USAGE else ServiceError)(message)
    event = text_format.Parse(reply.stdout, Event())
    translate = py_converters.event_to_value if isinstance(space, str) else space.translate
    return translate(event)
