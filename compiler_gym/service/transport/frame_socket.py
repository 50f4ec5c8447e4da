"""A socket that carries requests and replies of the direct channel."""

import contextlib
import ctypes
import itertools
import math
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from google.protobuf.message import Message

from compiler_gym.errors import ServiceTransportError
from compiler_gym.service.transport.frames import (
    MAX_PAYLOAD_BYTES,
    REPLY_HEADER,
    ChannelBroken,
    DirectRpcError,
    Method,
    Reader,
    close_fds,
    connect_abstract,
    parsed,
    reader_of_fds,
    request_frame,
    serialised,
)
from compiler_gym.service.transport.reply_polling import ReplyPolling

#: The time beyond its limit after which a request is given up, in seconds. The service enforces the
#: limit itself, and gives a better error.
GRACE_SECONDS = 1.0

_HEADER_BYTES = REPLY_HEADER.size

#: Large enough for all replies except those with a whole program.
BUFFER_BYTES = 64 * 1024

# Missing on systems without a direct channel.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)

# The longest time that poll() can be asked to wait, in milliseconds. It is then asked again.
_MAX_WAIT_MS = 10**9


_closings = itertools.count(1)


class FrameSocket:
    """One end of a connected Unix socket: sends a request, receives the reply.

    Either both by :meth:`call`, or one after the other by :meth:`begin` and :meth:`finish`, with
    time for other things in between. After an exception while a reply is due (``KeyboardInterrupt``
    included) the next reply would be that to the former request, so the socket is closed then.

    Args:
        connected: The socket, which belongs to this object from now on.

    Attributes:
        closed: True after :meth:`close`, or if the socket broke.
        is_busy: True while a request is pending.
        has_worked: True after the first reply.
        polling: Decides whether to poll.
        closings: Differs as soon as another socket was closed, of this process.
    """

    closings = 0

    def __init__(self, connected: socket.socket):
        connected.setblocking(False)
        self.closed = False
        self.is_busy = False
        self.has_worked = False
        self.polling = ReplyPolling()
        self._socket = connected
        self._owner_pid = os.getpid()
        # The time at which the pending request is given up.
        self._end: float | None = None
        self._skipped = 0
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._readable = select.poll()
        self._readable.register(connected, select.POLLIN)
        # Garbage collection may close a socket in the middle of a request.
        self._lock = threading.RLock()

    @classmethod
    def connect(cls, name: str, timeout: float) -> "FrameSocket":
        """Connects to a service.

        Args:
            name: The name of its abstract socket, without the zero byte.
            timeout: Time limit in (whole) seconds.

        Raises:
            OSError: If nobody listens there, as seen from this process.
            PermissionError: If it is another user who listens.
        """
        return cls(connect_abstract(name, timeout))

    @property
    def is_quiet(self) -> bool:
        """True if the socket is open, with no data and no end of file since the last reply."""
        # A poll object is not thread-safe.
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return not self.closed
        except OSError:
            pass
        return False

    def exchange(
        self,
        method: Method,
        request: Message,
        timeout: float | None,
        fds: list[int] | None = None,
        meanwhile: Callable[[], object] | None = None,
        before: Sequence[tuple[int, bytes]] = (),
    ) -> Any:
        """Sends a request and returns the reply, both as messages.

        Args:
            method: The method.
            request: Its request.
            timeout: The time limit in seconds, None for that of the service.
            fds: A list for the descriptors that come with the reply, see :meth:`call`.
            meanwhile: What to do before waiting for the reply.
            before: Methods and payloads of requests to be sent along and served before.

        Raises:
            grpc.RpcError: If the reply is an error, in the words of gRPC.
            ChannelBroken: If the other side has closed the socket.
        """
        payload = serialised(method, request)
        return parsed(method, *self.call(method.number, payload, timeout, fds, meanwhile, before))

    def call(
        self,
        method: int,
        payload: bytes,
        timeout: float | None,
        fds: list[int] | None = None,
        meanwhile: Callable[[], object] | None = None,
        before: Sequence[tuple[int, bytes]] = (),
    ) -> tuple[int, bytes | memoryview]:
        """Sends a request and waits for the reply.

        Args:
            method: The number of the method.
            payload: The request message.
            timeout: The time limit in seconds, None for that of the service. It is the service
                that keeps it; if there is no reply a second later, the request is given up.
            fds: A list for the descriptors that come with the reply, which are then the caller's
                to close, by :func:`close_fds`. It is empty after an exception.
            meanwhile: What to do before waiting for the reply.
            before: Methods and payloads of requests to be sent along and served before. The
                replies to them are skipped.

        Returns:
            The status code and the payload of the reply.

        Raises:
            ChannelBroken: If the other side has closed the socket.
            DirectRpcError: DEADLINE_EXCEEDED, if there was no reply in time.
            ServiceTransportError: If the reply makes no sense.
            RuntimeError: If a request has begun that is not finished yet.
        """
        data = self._request(method, payload, timeout, before)
        read = self._socket.recv_into if fds is None else reader_of_fds(self._socket, fds)
        end = end_of(timeout)
        was_sent = False
        with self._lock:
            try:
                sent = self._send_some(data)
                was_sent = True
                if sent < len(data):
                    self._send_rest(memoryview(data)[sent:], end)
                if meanwhile is not None:
                    meanwhile()
                reply = self._receive(read, end, len(before))
            except BaseException as error:
                close_fds(fds or [])
                self._give_up(error, was_sent)
                raise
        self.has_worked = True
        return reply

    def begin(
        self,
        method: int,
        payload: bytes,
        timeout: float | None,
        before: Sequence[tuple[int, bytes]] = (),
    ) -> float | None:
        """Sends a request. :meth:`finish` is to be called for the reply, before anything else.

        Args:
            method: Same as in :meth:`call`, like the other arguments.
            payload: The request message.
            timeout: The time limit.
            before: Requests to be sent along.

        Returns:
            The time at which the request is given up, by :func:`time.monotonic`; None for never.

        Raises:
            Exception: Any error of :meth:`call`.
        """
        data = self._request(method, payload, timeout, before)
        end = end_of(timeout)
        self.expect(end, len(before))
        self.send_frame(data)
        return end

    def expect(self, end: float | None, skipped: int = 0) -> None:
        """Begins a request, which :meth:`send_frame` or a :class:`FrameBatch` sends.

        Args:
            end: The time at which the request is given up.
            skipped: The number of replies before that to the request.
        """
        self._skipped = skipped
        self._end = end
        self.is_busy = True

    def send_frame(self, data: bytes) -> None:
        """Sends a request that is encoded already.

        Args:
            data: The result of :func:`request_frame`, or what is left of it to send.

        Raises:
            Exception: Any error of :meth:`call`.
        """
        with self._lock:
            try:
                sent = self._send_some(data)
                if sent < len(data):
                    self._send_rest(memoryview(data)[sent:], self._end)
            except BaseException as error:
                self._give_up(error, was_sent=True)
                raise

    def wait(self) -> bool:
        """Sleeps until there is something of the reply. May return early.

        Returns:
            False if the reply is overdue.
        """
        try:
            self._wait(self._readable, self._end)
        except DirectRpcError:
            return False
        return True

    def note_reply(self) -> None:
        """Ends a request whose reply was read by a :class:`FrameBatch`."""
        self.is_busy = False
        self.has_worked = True

    def finish(
        self, fds: list[int] | None = None, count: int = 0
    ) -> tuple[int, bytes | memoryview]:
        """Waits for the reply to what :meth:`begin` has sent.

        Args:
            fds: Same as in :meth:`call`.
            count: The number of bytes of the reply that the buffer has already.

        Returns:
            The status code and the payload of the reply.

        Raises:
            Exception: Any error of :meth:`call`.
        """
        with self._lock:
            try:
                read = self._socket.recv_into if fds is None else reader_of_fds(self._socket, fds)
                # Most callers know that the reply has arrived.
                count = count or self._read_more(read, self._view, self._end)
                reply = self._receive_rest(read, count, self._end, self._skipped)
            except BaseException as error:
                close_fds(fds or [])
                self._give_up(error, was_sent=True)
                raise
        self.note_reply()
        return reply

    @property
    def address(self) -> int:
        """The address in memory of the buffer that replies are read into."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))

    @property
    def fd(self) -> int:
        """The descriptor, which is readable as soon as there is something of a reply."""
        return self._socket.fileno()

    def _request(
        self,
        method: int,
        payload: bytes,
        timeout: float | None,
        before: Sequence[tuple[int, bytes]],
    ) -> bytes:
        """Returns the bytes of a request. Raises RuntimeError if another is pending."""
        if self.is_busy:
            raise RuntimeError("A request is in progress on this socket. Its reply must come first")
        if timeout is not None and timeout <= 0:
            raise DirectRpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "The time limit was reached")
        data = request_frame(method, payload, timeout)
        if before:
            data = b"".join(request_frame(*each, timeout) for each in before) + data
        return data

    def _give_up(self, error: BaseException, was_sent: bool) -> None:
        """Closes the socket after an error during a request, and returns the error for the user."""
        self.is_busy = False
        self.close()
        if isinstance(error, OSError) and not isinstance(error, ServiceTransportError):
            raise ChannelBroken(str(error), was_sent) from error

    def _send_some(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data, _NO_SIGNAL)
        except BlockingIOError:
            return 0

    def _send_rest(self, data: memoryview, end: float | None) -> None:
        writable = select.poll()
        writable.register(self._socket, select.POLLOUT)
        while data:
            self._wait(writable, end)
            data = data[self._send_some(data) :]

    def _receive(
        self, read: Reader, end: float | None, skipped: int
    ) -> tuple[int, bytes | memoryview]:
        return self._receive_rest(read, self._read_first(read, end), end, skipped)

    def _receive_rest(
        self, read: Reader, count: int, end: float | None, skipped: int
    ) -> tuple[int, bytes | memoryview]:
        """Receives replies to skip, then the reply. The buffer has their first bytes."""
        for _ in range(skipped):
            count = self._skip_reply(read, count, end) or self._read_first(read, end)
        count, size, code = self._read_header(read, count, end)
        excess = count - _HEADER_BYTES - size
        if excess > 0:
            raise ServiceTransportError(
                f"A reply of {size} bytes is followed by {excess} unexpected bytes. The "
                "service does not speak this version of the protocol, or it is broken"
            )
        if excess == 0:
            return code, bytes(self._view[_HEADER_BYTES:count])
        return code, self._read_rest(read, count - _HEADER_BYTES, size, end)

    def _read_header(self, read: Reader, count: int, end: float | None) -> tuple[int, int, int]:
        """Returns the number of bytes received, the size of the payload, and the status code."""
        while count < _HEADER_BYTES:
            count += self._read_more(read, self._view[count:], end)
        size, code, _, _ = REPLY_HEADER.unpack_from(self._buffer)
        if size > MAX_PAYLOAD_BYTES:
            raise ServiceTransportError(
                f"The header of a reply announces {size} bytes, where {MAX_PAYLOAD_BYTES} are the "
                "limit. The service does not speak this version of the protocol, or it is broken"
            )
        return count, size, code

    def _skip_reply(self, read: Reader, count: int, end: float | None) -> int:
        """Moves the bytes after a reply to the beginning of the buffer. Returns their number."""
        count, size, _ = self._read_header(read, count, end)
        left = _HEADER_BYTES + size
        while count < left:
            left -= count
            count = self._read_more(read, self._view, end)
        self._view[: count - left] = self._view[left:count]
        return count - left

    def _read_first(self, read: Reader, end: float | None) -> int:
        """Waits for the first bytes of the reply, and reads them."""
        start = time.perf_counter_ns()
        count = self._poll(read, start + self.polling.budget_ns) if self.polling.budget_ns else None
        if count is None:
            count = self._read_more(read, self._view, end, sleep_first=True)
        elif count == 0:
            raise _end_of_file()
        self.polling.record(time.perf_counter_ns() - start)
        return count

    def _poll(self, read: Reader, end_ns: int) -> int | None:
        """Reads by polling. Returns None if nothing arrives in time."""
        while True:
            try:
                return read(self._view)
            except BlockingIOError:
                if time.perf_counter_ns() >= end_ns:
                    return None
            # If all processors are busy, the other side may be waiting for this one.
            os.sched_yield()

    def _read_more(
        self, read: Reader, view: memoryview, end: float | None, sleep_first: bool = False
    ) -> int:
        """Reads the available bytes, at least one."""
        while True:
            if sleep_first:
                self._wait(self._readable, end)
            try:
                count = read(view)
            except BlockingIOError:
                sleep_first = True
                continue
            if count == 0:
                raise _end_of_file()
            return count

    def _read_rest(
        self, read: Reader, count: int, size: int, end: float | None
    ) -> bytes | memoryview:
        """Reads the rest of a payload. The buffer has its first bytes."""
        payload = memoryview(bytearray(size))
        payload[:count] = self._view[_HEADER_BYTES : _HEADER_BYTES + count]
        while count < size:
            count += self._read_more(read, payload[count:], end)
        return payload

    def _wait(self, event: select.poll, end: float | None) -> None:
        """Sleeps until the socket is ready or a signal arrives."""
        if end is None:
            event.poll()
            return
        left = end - time.monotonic()
        if left <= 0:
            raise DirectRpcError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"The service did not reply until {GRACE_SECONDS:g} second after the time limit of "
                "the request",
            )
        event.poll(math.ceil(min(left * 1000, _MAX_WAIT_MS)))

    def close(self) -> None:
        """Closes the socket, and wakes a thread that waits for a reply. Can be repeated."""
        self._note_closing()
        if self._owner_pid == os.getpid():
            # Does not end the connection of a parent process.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._socket.close()

    def close_in_child(self) -> None:
        """Closes the copy in a forked process, where the lock may never be released."""
        self._note_closing()
        self._socket.close()

    def _note_closing(self) -> None:
        self.closed = True
        FrameSocket.closings = next(_closings)  # Last, and never the same, for other threads.


def end_of(timeout: float | None) -> float | None:
    """Returns the time at which to give up a request, by :func:`time.monotonic`."""
    return None if timeout is None else time.monotonic() + timeout + GRACE_SECONDS


def _end_of_file() -> OSError:
    return ConnectionResetError("The service has closed the connection")
