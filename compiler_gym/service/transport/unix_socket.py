"""Unix sockets for connections to a service on this machine.

Only the user who runs the service can connect to it: nobody else has access to its directory and
socket, and the service asks the kernel for the user of the other end.
"""

import math
import os
import socket
import struct
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


def connect_abstract(name: str, timeout: float) -> socket.socket:
    """Connects to an abstract socket of this user.

    Args:
        name: Its name, without the zero byte.
        timeout: Time limit in (whole) seconds.

    Raises:
        OSError: If nobody listens there, as seen from this process.
        PermissionError: If it is another user who listens.
    """
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Not settimeout(): such a socket fails at once while many others are connecting.
        limit = struct.pack("ll", math.ceil(timeout), 0)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        connected.connect("\0" + name)
        _check_owner(connected)
        return connected
    except BaseException:
        connected.close()
        raise


def _check_owner(connected: socket.socket) -> None:
    """Raises PermissionError if the other end belongs to another user.

    Any user can see the name of an abstract socket, and reuse it when its owner has ended.
    """
    credentials = struct.Struct("iII")
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    _, user, _ = credentials.unpack(raw)
    if user != os.geteuid():
        raise PermissionError(f"The socket belongs to the user with id {user}")
