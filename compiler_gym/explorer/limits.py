"""The limits of a server of the explorer."""

from dataclasses import dataclass

PUBLIC_NAME_HELP = "The name of the server for clients, e.g. example.org, at a proxy with TLS."
"""The description of the option ``--public-name`` of the servers."""


@dataclass(frozen=True)
class Limits:
    """Limits on the requests of a page's visitors.

    Attributes:
        is_public: Whether visitors are strangers.
        source_bytes: Size of a program as text.
        body_bytes: Size of a request.
        instructions: IR instructions of a program.
        actions: Actions from the beginning of a program.
        step_seconds: Time for a request to the compiler.
        compile_seconds: Time to compile a source.
        search_seconds: Time for a search.
        states: States whose sessions are kept, of all visitors together.
        programs: Programs that are kept.
        jobs: Rankings, searches and analyses of causes at a time, of one visitor.
        all_jobs: The same, of all visitors.
        job_seconds: Time for a job, pauses included.
        requests: Requests of one visitor at a time.
        sockets: WebSockets of one visitor at a time.
        idle_seconds: Time after which a socket without a message from the visitor is closed.
        requests_per_minute: Requests of one visitor.
        session_mib: Memory of a session.
        tool_seconds: Time of a tool of the compiler that runs outside of a session.
        tool_mib: Memory of a tool of the compiler that runs outside of a session.
    """

    is_public: bool = False
    source_bytes: int = 4 << 20
    body_bytes: int = 8 << 20
    instructions: int = 1_000_000
    actions: int = 1000
    step_seconds: float = 60
    compile_seconds: float = 60
    search_seconds: float = 3600
    states: int = 64
    programs: int = 64
    jobs: int = 4
    all_jobs: int = 16
    job_seconds: float = 86_400
    requests: int = 1000
    sockets: int = 1000
    idle_seconds: float = 86_400
    requests_per_minute: int = 100_000
    session_mib: int = 4096
    tool_seconds: float = 60
    tool_mib: int = 4096


LOCAL = Limits()

PUBLIC = Limits(
    is_public=True,
    source_bytes=256 << 10,
    body_bytes=512 << 10,
    instructions=50_000,
    actions=200,
    step_seconds=5,
    compile_seconds=10,
    search_seconds=30,
    states=64,
    programs=64,
    jobs=2,
    all_jobs=4,
    job_seconds=120,
    requests=8,
    sockets=8,
    idle_seconds=120,
    requests_per_minute=600,
    session_mib=1024,
    tool_seconds=5,
    tool_mib=1024,
)
