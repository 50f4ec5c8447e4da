"""Requests and replies of several sockets at once, beside the same on one socket."""

import os
import socket
import threading
import time
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

from compiler_gym.service.proto import Event, StepReply
from compiler_gym.service.proto.event_converters import array_to_event, event_to_value
from compiler_gym.service.transport.frame_batch import FrameBatch, column_of
from compiler_gym.service.transport.frame_socket import FrameSocket, end_of
from compiler_gym.service.transport.frames import REPLY_HEADER, ChannelBroken, request_frame
from compiler_gym.service.transport.reply_polling import ReplyPolling
from compiler_gym.spaces import Scalar

COUNT = 4
SPACES = (
    Box(-np.inf, np.inf, (3,), np.int64),
    Scalar(dtype=np.int64),
    Box(-np.inf, np.inf, (2, 2), np.float64),
    Scalar(dtype=np.float64),
    Box(-np.inf, np.inf, (5,), np.float32),
)
EXTREMES = [0, 1, -1, 63, 64, -64, -65, 2**31, 2**62, 2**63 - 1, -(2**63)]


class Pairs:
    """A batch, and the other sides of its sockets."""

    def __init__(self, count: int = COUNT, seconds: float = 60):
        self.columns = tuple(column_of(space) for space in SPACES)
        self.batch = FrameBatch(count)
        self.ours: list[FrameSocket] = []
        self.theirs: list[socket.socket] = []
        for place in range(count):
            one, other = socket.socketpair()
            self.ours.append(FrameSocket(one))
            self.theirs.append(other)
            assert self.batch.use(place, self.ours[place], self.columns)
        self.seconds = seconds

    def begin(self, request: bytes = b"request") -> None:
        """Sends a request at each place, and receives it on the other side."""
        for place, sock in enumerate(self.ours):
            sock.expect(end_of(self.seconds - 1))
            self.batch.put(place, request_frame(6, request, self.seconds))
        assert self.batch.send()
        for other in self.theirs:
            assert other.recv(1000)[16:] == request

    def close(self) -> None:
        for each in (*self.ours, *self.theirs):
            each.close()


@pytest.fixture
def pairs():
    made = Pairs()
    yield made
    made.close()


def framed(payload: bytes, code: int = 0) -> bytes:
    return REPLY_HEADER.pack(len(payload), code, 0, 0) + payload


def plain_reply(rng: np.random.Generator) -> StepReply:
    events = [
        array_to_event(rng.choice(EXTREMES, 3)),
        Event(int64_value=int(rng.choice(EXTREMES))),
        array_to_event(rng.normal(size=(2, 2))),
        Event(double_value=rng.normal()),
        array_to_event(rng.normal(size=5).astype(np.float32)),
    ]
    return StepReply(action_had_no_effect=bool(rng.integers(2)), observation=events)


def assert_decoded(batch: FrameBatch, place: int, reply: StepReply) -> None:
    decoded = batch.decoded(place)
    assert decoded is not None
    values, had_no_effect = decoded
    assert had_no_effect is reply.action_had_no_effect
    for value, event in zip(values, reply.observation, strict=True):
        expected = event_to_value(event)
        assert type(value) is type(expected)
        assert getattr(value, "dtype", None) == getattr(expected, "dtype", None)
        np.testing.assert_array_equal(value, expected)


def test_plain_replies(pairs):
    rng = np.random.default_rng(1)
    kept = []
    for _ in range(50):
        pairs.begin()
        replies = [plain_reply(rng) for _ in range(COUNT)]
        for other, reply in zip(pairs.theirs, replies, strict=True):
            other.send(framed(reply.SerializeToString()))
        assert pairs.batch.read() == -1
        for place, reply in enumerate(replies):
            assert not pairs.batch.is_waiting(place)
            assert_decoded(pairs.batch, place, reply)
            pairs.ours[place].note_reply()
        kept.append((replies[0], pairs.batch.decoded(0)))
    for reply, (values, _) in kept:  # Later replies have not changed them.
        np.testing.assert_array_equal(values[0], event_to_value(reply.observation[0]))


def with_event(position: int, **fields: Any) -> bytes:
    reply = plain_reply(np.random.default_rng(2))
    reply.observation[position].CopyFrom(Event(**fields))
    return reply.SerializeToString()


def other_replies() -> list[bytes]:
    plain = plain_reply(np.random.default_rng(3)).SerializeToString()
    typed = plain_reply(np.random.default_rng(3))
    typed.observation[1].type_id = "permutation"
    wrong_shape = array_to_event(np.zeros((1, 3), np.int64)).int64_tensor
    short = array_to_event(np.zeros(2, np.int64)).int64_tensor
    return [
        b"",
        plain + StepReply(end_of_session=True).SerializeToString(),
        StepReply(end_of_session=True).SerializeToString() + plain,
        plain + StepReply(observation=[Event(int64_value=1)]).SerializeToString(),
        typed.SerializeToString(),
        with_event(0, int64_tensor=wrong_shape),
        with_event(0, int64_tensor=short),
        with_event(0, string_value="text"),
        with_event(1, double_value=1.0),
        with_event(1),
        with_event(3, float_value=1.0),
        b"\xff" * 100,
    ]


def test_other_replies_and_errors_are_left_to_the_socket(pairs):
    for code, payload in [(5, b"text"), *((0, payload) for payload in other_replies())]:
        pairs.begin()
        for other in pairs.theirs:
            other.send(framed(payload, code))
        pairs.batch.read()
        for place, sock in enumerate(pairs.ours):
            assert pairs.batch.decoded(place) is None
            assert sock.finish(count=pairs.batch.bytes_read(place)) == (code, payload)


def test_malformed_replies(pairs):
    """Whatever is decoded is what protobuf decodes."""
    rng = np.random.default_rng(4)
    decoded = 0
    for _ in range(400):
        pairs.begin()
        payloads = []
        for other in pairs.theirs:
            data = bytearray(plain_reply(rng).SerializeToString())
            for _ in range(rng.integers(1, 3)):
                data[rng.integers(len(data))] = rng.integers(256)
            payloads.append(bytes(data[: rng.choice([len(data), rng.integers(len(data))])]))
            other.send(framed(payloads[-1]))
        pairs.batch.read()
        for place, (sock, payload) in enumerate(zip(pairs.ours, payloads, strict=True)):
            if pairs.batch.decoded(place) is None:
                assert sock.finish(count=pairs.batch.bytes_read(place)) == (0, payload)
            else:
                assert_decoded(pairs.batch, place, StepReply.FromString(payload))
                decoded += 1
                sock.note_reply()
    assert decoded > 50


def test_pieces_and_large_replies(pairs):
    large = StepReply(observation=[Event(string_value="x" * 200_000)]).SerializeToString()
    plain = plain_reply(np.random.default_rng(5)).SerializeToString()
    for payload, cut in [(plain, 7), (plain, 16), (plain, 30), (large, 50_000)]:
        pairs.begin()
        for other in pairs.theirs:
            other.send(framed(payload)[:cut])
        pairs.batch.read()
        for place, (sock, other) in enumerate(zip(pairs.ours, pairs.theirs, strict=True)):
            thread = threading.Thread(target=other.sendall, args=(framed(payload)[cut:],))
            thread.start()
            assert sock.finish(count=pairs.batch.bytes_read(place)) == (0, payload)
            thread.join()


def test_other_columns_are_not_decoded():
    pairs = Pairs(2)
    pairs.batch.use(1, pairs.ours[1], pairs.columns[:1])
    pairs.begin()
    reply = plain_reply(np.random.default_rng(6))
    for other in pairs.theirs:
        other.send(framed(reply.SerializeToString()))
    pairs.batch.read()
    assert_decoded(pairs.batch, 0, reply)
    assert pairs.batch.decoded(1) is None
    pairs.close()


class TestWaiting:
    def test_sleeps_until_the_last(self, pairs):
        pairs.begin()
        reply = plain_reply(np.random.default_rng(7))
        frame = framed(reply.SerializeToString())
        pairs.theirs[1].send(frame)
        timers = [
            threading.Timer(seconds, pairs.theirs[place].send, (frame,))
            for place, seconds in [(0, 0.2), (2, 0.05), (3, 0.1)]
        ]
        for timer in timers:
            timer.start()
        pairs.batch.read_all(ReplyPolling())
        for place in range(COUNT):
            assert_decoded(pairs.batch, place, reply)
        for timer in timers:
            timer.join()

    @pytest.mark.parametrize("late", [0, COUNT - 1])
    def test_overdue(self, late):
        pairs = Pairs(seconds=0.2)
        pairs.begin()
        for place, other in enumerate(pairs.theirs):
            if place != late:
                other.send(framed(b""))
        begin = time.monotonic()
        pairs.batch.read_all(ReplyPolling())
        assert 0.1 < time.monotonic() - begin < 30
        assert pairs.batch.bytes_read(late) == 0
        assert not pairs.batch.is_waiting(late)
        pairs.close()


class TestBreakage:
    def test_end_of_file(self, pairs):
        pairs.begin()
        for other in pairs.theirs:
            other.close()
        pairs.batch.read_all(ReplyPolling())
        for place, sock in enumerate(pairs.ours):
            with pytest.raises(ChannelBroken):
                sock.finish(count=pairs.batch.bytes_read(place))

    def test_broken_before_the_request(self, pairs):
        pairs.theirs[1].close()
        frame = request_frame(6, b"request", 1)
        for place, sock in enumerate(pairs.ours):
            sock.expect(end_of(1))
            pairs.batch.put(place, frame)
        assert not pairs.batch.send()
        assert [pairs.batch.unsent(place) for place in range(COUNT)] == [b"", frame, b"", b""]
        with pytest.raises(ChannelBroken):
            pairs.ours[1].send_frame(pairs.batch.unsent(1))

    def test_large_request(self, pairs):
        frame = request_frame(6, bytes(range(256)) * 20_000, 60)
        pairs.ours[2].expect(end_of(60))
        pairs.batch.put(2, frame)
        assert not pairs.batch.send()
        assert not pairs.batch.send()
        rest = pairs.batch.unsent(2)
        assert 0 < len(rest) < len(frame)
        received: list[bytes] = []
        thread = threading.Thread(
            target=lambda: received.append(pairs.theirs[2].recv(len(frame), socket.MSG_WAITALL))
        )
        thread.start()
        pairs.ours[2].send_frame(rest)
        thread.join()
        assert received == [frame]

    def test_number_of_a_closed_socket(self, pairs):
        """Another file that gets the number is neither read nor written."""
        pairs.begin()
        number = pairs.ours[0].fd
        one, other = socket.socketpair()
        pairs.ours[0].close()
        os.dup2(one.fileno(), number)
        other.send(b"not for the batch")
        pairs.batch.read()
        pairs.batch.put(0, request_frame(6, b"request", 60))
        assert not pairs.batch.send()
        assert os.read(number, 100) == b"not for the batch"
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)
        os.close(number)
        one.close()
        other.close()
