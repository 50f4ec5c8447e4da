"""Options for connections: the service's address, time limits, and retries."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from compiler_gym.util.debug_util import is_output_shown


class ConnectionOpts(BaseModel):
    """Options of a :class:`CompilerGymServiceConnection`. All times are in seconds.

    Misspelt options are refused with ``pydantic.ValidationError``, and so are values out of range,
    also when assigned later.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    rpc_max_retries: int = Field(default=5, ge=0)
    """How often an RPC is repeated when the service cannot be reached, before giving up."""

    retry_wait_seconds: float = Field(default=0.1, ge=0)
    """The wait before the first repetition of an RPC."""

    retry_wait_backoff_exponent: float = Field(default=1.5, ge=1)
    """Each further wait is this many times longer than the one before."""

    init_max_seconds: float = Field(default=30, gt=0)
    """The time within which a connection must be established, over all attempts."""

    init_max_attempts: int = Field(default=5, ge=1)
    """How often to try to establish a connection, and to start a session on it."""

    local_service_port_init_max_seconds: float = Field(default=30, gt=0)
    """The time within which a service that was started must announce its port."""

    local_service_exit_max_seconds: float = Field(default=30, ge=0)
    """The time that a service gets to end by itself on close, before it is killed."""

    rpc_init_max_seconds: float = Field(default=3, gt=0)
    """The time limit of the first RPC, for each attempt."""

    rpc_call_max_seconds: float | None = Field(default=None, gt=0)
    """No RPC may take longer, whatever time limit it is called with, e.g. by ``env.step()``. None
    for no other limit than that."""

    always_send_benchmark_on_reset: bool = False
    """Send the whole program with every start of a session, not only when the service asks."""

    direct_channel: bool = True
    """Talk to a service on this machine without gRPC if it can do so, which is much faster. The
    environment variable ``COMPILER_GYM_DIRECT_CHANNEL=0`` switches it off for all connections."""

    token: SecretStr | None = None
    """The secret that a service with ``--token_file`` asks for. It is sent with each request by
    TCP, so use TLS unless nobody else can listen on the way."""

    token_file: Path | None = None
    """A file with the token, instead of ``token``."""

    tls_ca_file: Path | None = None
    """A file with certificates, in PEM format, one of which must have signed that of the service.
    Connections by TCP are encrypted then, as a service with ``--tls_certificate`` demands."""

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
