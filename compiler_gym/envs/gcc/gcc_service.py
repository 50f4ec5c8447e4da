"""The program of the service. It takes the compiler from the environment variable CC."""

import sys

from compiler_gym.service.runtime import create_and_run_compiler_gym_service

# isort: split
from compiler_gym.envs.gcc.gcc import get_gcc
from compiler_gym.envs.gcc.gcc_session import make_session_type
from compiler_gym.envs.gcc.spec import get_spec
from compiler_gym.errors import EnvironmentNotSupported


def main() -> None:
    """Runs the service until it is told to end."""
    try:
        gcc = get_gcc()
        session_type = make_session_type(gcc, get_spec(gcc))
    except EnvironmentNotSupported as error:
        sys.exit(str(error))
    create_and_run_compiler_gym_service(session_type)


if __name__ == "__main__":
    main()
