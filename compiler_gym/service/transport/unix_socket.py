"""The Unix socket by which a service on this machine is reached.

Nobody but the user who runs the service can connect to it: its directory and the socket itself are
open to nobody else, and the service asks the kernel who is there.
"""

import os
import socket
import weakref
from pathlib import Path

_SOCKET_FILE = "service.sock"
_CONNECT_SECONDS = 3


class UnixSocket:
    """The Unix socket in the working directory of a service.

    Args:
        directory: The directory. Its path may be longer than those of sockets can be (107 bytes),
            so it is opened, and the socket is named as seen from there.

    Attributes:
        address: Its name for gRPC, which is valid as long as this object.

    Raises:
        OSError: If nobody listens there, as with services that have no such socket.
    """

    def __init__(self, directory: Path):
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, folder).atexit = False
        path = f"/proc/self/fd/{folder}/{_SOCKET_FILE}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            probe.connect(path)
        self.address = f"unix:{path}"
