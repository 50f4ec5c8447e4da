"""Options for connections: the service's address, time limits, and retries."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from compiler_gym.util.debug_util import is_output_shown


class ConnectionOpts(BaseModel):
    """Options of a :class:`CompilerGymServiceConnection`. All times are in seconds.

    Unknown options and values out of range raise ``pydantic.ValidationError``, in the constructor
    and on assignment.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    rpc_max_retries: int = Field(default=5, ge=0)
    """The number of times to retry an RPC when the service cannot be reached."""

    retry_wait_seconds: float = Field(default=0.1, ge=0)
    """The wait before the first retry of an RPC."""

    retry_wait_backoff_exponent: float = Field(default=1.5, ge=1)
    """The factor by which each further wait grows."""

    init_max_seconds: float = Field(default=30, gt=0)
    """The time limit for connecting, over all attempts."""

    init_max_attempts: int = Field(default=5, ge=1)
    """The number of attempts to connect, and to start a session."""

    local_service_port_init_max_seconds: float = Field(default=30, gt=0)
    """The time limit for a started service to announce its port."""

    local_service_exit_max_seconds: float = Field(default=30, ge=0)
    """The time for a service to end by itself on close, before it is killed."""

    rpc_init_max_seconds: float = Field(default=3, gt=0)
    """The time limit of the first RPC, for each attempt."""

    rpc_call_max_seconds: float | None = Field(default=None, gt=0)
    """The upper limit for the time of every RPC, for example one with a time limit given to
    ``env.step()``. None for no upper limit."""

    always_send_benchmark_on_reset: bool = False
    """Send the whole program at every start of a session, even if the service has it already."""

    direct_channel: bool = True
    """Use the direct channel instead of gRPC for a service on this machine, which is much faster.
    The environment variable ``COMPILER_GYM_DIRECT_CHANNEL=0`` disables it for all connections."""

    token: SecretStr | None = None
    """The secret that a service with ``--token_file`` requires. Each TCP request contains it, so
    use TLS unless the network is private."""

    token_file: Path | None = None
    """A file with the token, instead of ``token``."""

    tls_ca_file: Path | None = None
    """A PEM file with the certificates of trusted authorities; one must have signed that of the
    service. TCP connections are then encrypted, as a service with ``--tls_certificate``
    requires."""

    tls_certificate_file: Path | None = None
    """A file with this client's own certificate, in PEM format, for a service with
    ``--tls_client_ca``."""

    tls_key_file: Path | None = None
    """The key of ``tls_certificate_file``, in PEM format."""

    show_output: bool = Field(default_factory=is_output_shown)
    """Let a service that is started write to this process's standard output and error: what its
    compiler prints, after each step, and its own log. By default they go to a file, see
    :meth:`CompilerGymServiceConnection.loglines`, unless ``COMPILER_GYM_SHOW_OUTPUT=1``."""

    script_args: list[str] = Field(default_factory=list)
    """Further command line arguments of a service that is started."""

    script_env: dict[str, str] = Field(default_factory=dict)
    """Further environment variables of a service that is started."""
