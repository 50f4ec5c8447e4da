"""Requests and replies on many sockets at once, in one call of native code.

After the processor has worked for sessions, each line of Python takes longer than usual. So
``FrameBatch.cc`` sends the requests of a batch of steps, reads the replies, and writes
plain observations straight into arrays.
"""

import ctypes
import logging
import os
import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from compiler_gym.service.proto import Int64Tensor
from compiler_gym.service.transport.frame_socket import BUFFER_BYTES, FrameSocket
from compiler_gym.service.transport.reply_polling import ReplyPolling
from compiler_gym.util.runfiles_path import find_service_file

logger = logging.getLogger(__name__)

_LIBRARY = "libcompiler_gym_frames.so"
_PACKAGE = "compiler_gym/service/transport"

# Like the constants of FrameBatch.cc.
_WAITING = -1
_DECODED = -2


# Fields of Event, with their wire types: of single numbers, and of arrays.
_VALUE_TAGS = {"int64": 0x28, "float64": 0x39}
_TENSOR_TAGS = {"int64": 0x5A, "float32": 0x62, "float64": 0x6A}


class Column(NamedTuple):
    """An observation that each reply has.

    Attributes:
        tag: The field of ``Event``, with its wire type.
        dtype: The type of the numbers.
        shape: The shape of the array; empty for a single number.
    """

    tag: int
    dtype: np.dtype
    shape: tuple[int, ...]


def column_of(space: Any) -> Column | None:
    """Returns the column of observations of a space; None if they have another form."""
    if not isinstance(space, Box) or not all(space.shape):
        return None
    tag = (_TENSOR_TAGS if space.shape else _VALUE_TAGS).get(space.dtype.name)
    return None if tag is None else Column(tag, space.dtype, space.shape)


class _NativeColumn(ctypes.Structure):
    # Like CompilerGymColumn.
    _fields_ = (
        ("tag", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("shape", ctypes.c_char_p),
        ("shape_size", ctypes.c_int64),
        ("values", ctypes.c_void_p),
    )


@cache
def _library() -> ctypes.PyDLL | None:
    """Loads the native code. Returns None if there is none."""
    path = find_service_file(_LIBRARY, _PACKAGE)
    if path is None:
        return None
    try:
        # It keeps the lock of the interpreter, so that no other thread closes a socket, and never
        # waits.
        library = ctypes.PyDLL(str(path))
    except OSError as error:
        logger.debug("Cannot load %s: %s", path, error)
        return None
    count, pointer = ctypes.c_int32, ctypes.c_void_p
    library.compiler_gym_send_frames.argtypes = [count, pointer, pointer, pointer]
    library.compiler_gym_read_frames.argtypes = [
        *(count, pointer, pointer, ctypes.c_int64, pointer, pointer, pointer, count, pointer)
    ]
    return library


def _addresses(*arrays: Any) -> list[int]:
    return [ctypes.addressof(each) for each in arrays]


class FrameBatch:
    """The requests and replies of several sockets. Each has a place.

    An interrupt (Ctrl-C) may come anywhere: each method can be repeated.

    Args:
        count: The number of places.
    """

    def __init__(self, count: int):
        self._library = _library()
        self._columns: tuple[Column, ...] = ()
        # An array for each column, with a row for each place.
        self._values: list[np.ndarray] = []
        # One of each for each place.
        self._sockets: dict[int, FrameSocket] = {}
        self._closings = 0
        self._requests: list[bytes] = [b""] * count
        self._frames = (ctypes.c_char_p * count)()
        self._fds = (ctypes.c_int32 * count)(*[-1] * count)
        self._states = (ctypes.c_int32 * count)()
        self._buffers = (ctypes.c_void_p * count)()
        self._are_decoded = (ctypes.c_uint8 * count)()
        self._had_no_effect = (ctypes.c_uint8 * count)()
        self._sending = count, *_addresses(self._fds, self._frames, self._states)
        self._reading: tuple[Any, ...] = ()
        self._plan_reading(None)

    def use(self, place: int, sock: FrameSocket, columns: tuple[Column, ...] | None) -> bool:
        """Gives a socket a place. Returns false if there is no native code.

        Args:
            place: The number of the place.
            sock: The socket.
            columns: What to decode of its replies; None to decode nothing. The columns of the
                first socket are those of all.
        """
        if self._library is None:
            return False
        if columns is not None and not self._columns:
            self._set_columns(columns)
        self.forget(place)
        self._are_decoded[place] = columns is not None and columns == self._columns
        self._sockets[place] = sock
        self._buffers[place] = sock.address
        self._fds[place] = sock.fd
        return True

    def _set_columns(self, columns: tuple[Column, ...]) -> None:
        count = len(self._fds)
        self._values = [np.zeros((count, *column.shape), column.dtype) for column in columns]
        natives = (_NativeColumn * len(columns))()
        for native, column, values in zip(natives, columns, self._values, strict=True):
            # Tensors of all types have the same beginning.
            tensor = Int64Tensor(shape=column.shape).SerializeToString()
            native.tag, native.count = column.tag, values[0].size
            native.shape, native.shape_size = tensor, len(tensor)
            native.values = values.ctypes.data
        self._plan_reading(natives)
        self._columns = columns

    def _plan_reading(self, columns: Any) -> None:
        self._native_columns = columns
        self._reading = (
            len(self._fds),
            *_addresses(self._fds, self._buffers),
            BUFFER_BYTES,
            *_addresses(self._states, self._are_decoded),
            ctypes.addressof(columns) if columns else None,
            len(columns or ()),
            *_addresses(self._had_no_effect),
        )

    def put(self, place: int, request: bytes) -> None:
        """Puts a request at a place, for :meth:`send`. Its socket has to expect the reply."""
        self._states[place] = 0
        self._requests[place] = self._frames[place] = request

    def forget(self, place: int) -> None:
        """Forgets the request or reply at a place."""
        self._frames[place] = None
        self._states[place] = 0

    def send(self) -> bool:
        """Sends the requests that were not sent, without waiting.

        Returns:
            False if some could not be sent completely, see :meth:`unsent`.
        """
        self._drop_closed()
        library = self._library
        return library is None or not library.compiler_gym_send_frames(*self._sending)

    def unsent(self, place: int) -> bytes:
        """Returns what was not sent of the request at a place."""
        is_left = self._frames[place] is not None
        return self._requests[place][self._states[place] :] if is_left else b""

    def read(self) -> int:
        """Reads the replies that have arrived, without waiting.

        Returns:
            The last place whose reply is late; -1 if none is.
        """
        self._drop_closed()
        library = self._library
        return -1 if library is None else library.compiler_gym_read_frames(*self._reading)

    def read_all(self, polling: ReplyPolling) -> None:
        """Waits for all replies, and reads them.

        Sleeps until the last of them is there. So the process wakes up once for most of them.

        Args:
            polling: Decides whether to poll.
        """
        start = time.perf_counter_ns()
        end = start + polling.budget_ns
        while (late := self.read()) >= 0:
            if time.perf_counter_ns() < end:
                os.sched_yield()
            elif not self._sockets[late].wait():
                self._states[late] = 0  # It is overdue, as finish() will say.
        polling.record(time.perf_counter_ns() - start)

    def is_waiting(self, place: int) -> bool:
        """Returns true if the request at a place was sent, and no reply was read."""
        return self._states[place] == _WAITING

    def bytes_read(self, place: int) -> int:
        """Returns the number of bytes of the reply that the buffer of the socket has."""
        return max(self._states[place], 0)

    def decoded(self, place: int) -> tuple[list[Any], bool] | None:
        """Returns what was decoded of the reply at a place; None if it was not decoded.

        Returns:
            The observations, and whether the action had no effect.
        """
        if self._states[place] != _DECODED:
            return None
        values = [
            each.item(place) if each.ndim == 1 else each[place].copy() for each in self._values
        ]
        return values, self._had_no_effect[place] != 0

    def _drop_closed(self) -> None:
        """Ensures that no other file is taken for a socket that was closed."""
        closings = FrameSocket.closings
        if closings == self._closings:
            return
        closed = [place for place, sock in self._sockets.items() if sock.closed]
        for place in closed:
            self._fds[place] = -1
            del self._sockets[place]
        self._closings = closings  # Last, in case of an interrupt (Ctrl-C).
