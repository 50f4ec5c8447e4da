"""The compiler of ToySession.h once more, as a service written in Python.

What actions, observations, parameters and programs do is described there.
"""

import ctypes
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

from google.protobuf import text_format

from compiler_gym.errors import ServiceError
from compiler_gym.service.compilation_session import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    ByteTensor,
    DoubleTensor,
    Event,
    Int64Tensor,
    NamedDiscreteSpace,
    ObservationSpace,
    Space,
)
from compiler_gym.service.runtime import create_and_run_compiler_gym_service

EDIT_NAMES = [
    *("uppercase", "reverse", "rotate", "append-a", "no-op", "end", "end-later", "fail", "throw"),
    *("restrict", "sleep", "hang", "run", "corrupt", "crash", "abort", "exit", "loop", "allocate"),
    *("corrupt-heap", "chatter", "crash-when-full", "crash-later"),
]
RESTRICTED_ACTION_COUNT = 5
LETTERS = range(ord("a"), ord("z") + 1)
LARGEST = (1 << 63) - 1


def edit_space(action_count: int) -> ActionSpace:
    names = NamedDiscreteSpace(name=EDIT_NAMES[:action_count])
    return ActionSpace(name="Edit", space=Space(named_discrete=names))


def observation_space(name: str, space: str, default: str = "", deterministic: bool = True):
    return text_format.Parse(
        f"name: '{name}' deterministic: {deterministic} space {{ {space} }} "
        + (f"default_observation {{ {default} }}" if default else ""),
        ObservationSpace(),
    )


def count_space(name: str, deterministic: bool = True) -> ObservationSpace:
    return observation_space(name, "int64_value { min: 0 }", "int64_value: 0", deterministic)


def letters(counts: list[int]) -> Int64Tensor:
    return Int64Tensor(shape=[len(LETTERS)], value=counts)


def allocate_most() -> bytes:
    """Uses nearly all memory that there may be, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return b"x" * (limit * 94 // 100 - pages * resource.getpagesize())


def corrupt_heap() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(64) for _ in range(100)]
    ctypes.memset(blocks[10], ord("x"), 4096)
    for block in blocks:
        libc.free(block)


def allocate_without_end() -> NoReturn:
    pieces = []
    while True:
        pieces.append(b"x" * (16 << 20))
        time.sleep(0.005)


class ToySession(CompilationSession):
    """Edits text, for tests of the runtime and its clients."""

    compiler_version = "toy 1.0"
    action_spaces = (
        edit_space(len(EDIT_NAMES)),
        text_format.Parse(
            "name: 'Append' space { string_value { length_range { min: 1 max: 16 } } }",
            ActionSpace(),
        ),
    )
    observation_spaces = (
        observation_space("text", "string_value { length_range { min: 0 } }", "string_value: ''"),
        count_space("length"),
        observation_space(
            "histogram",
            f"int64_box {{ low {{ {letters([0] * 26)} }} high {{ {letters([LARGEST] * 26)} }} }}",
            f"int64_tensor {{ {letters([0] * 26)} }}",
        ),
        observation_space("bytes", "byte_sequence { length_range { min: 0 } }"),
        observation_space(
            "ratios",
            "double_sequence { length_range { min: 0 } scalar_range { min: 0 max: 1 } }",
        ),
        count_space("counter", deterministic=False),
        count_space("failing"),
        count_space("throwing"),
        count_space("end-of-steps", deterministic=False),
    )

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        self.working_directory = working_directory
        self.action_space_name = action_space.name
        self.action_count = len(action_space.space.named_discrete.name)
        self.sleep_milliseconds = 50
        self.counter = 0
        self.observed = 0
        self.replies = 0
        self.end_of_steps = 0
        self.end_later = False
        self.corrupt = False
        self.crash_later = False
        self.text = self.read_program(benchmark)
        if self.text.startswith(b"awaited"):
            self.await_release()
        if self.text in (b"unacceptable", b"awaited-unacceptable"):
            raise ValueError("Cannot parse the program")
        if self.text == b"deadly":
            os.abort()
        if self.text == b"explosive":
            raise RuntimeError("the program exploded")

    def announce_sleep(self) -> None:
        (self.working_directory / "asleep").write_text("asleep")

    def await_release(self, seconds: float = 3600) -> None:
        """Waits until a test has made the file "released", or some time has passed."""
        self.announce_sleep()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (self.working_directory / "released").exists():
            time.sleep(min(seconds, 0.002))

    @staticmethod
    def read_program(benchmark: Benchmark) -> bytes:
        program = benchmark.program
        if program.WhichOneof("data") == "contents":
            return program.contents
        try:
            if not program.uri.startswith("file://"):
                raise OSError("not a file")
            return Path(program.uri.removeprefix("file://")).read_bytes()
        except OSError:
            raise FileNotFoundError(f'Cannot read the program "{program.uri}"') from None

    def fork(self) -> "ToySession":
        copy = ToySession.__new__(ToySession)
        vars(copy).update(vars(self))
        return copy

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        before = self.text
        if self.action_space_name == "Append":
            if not 1 <= len(action.string_value) <= 16:
                raise ValueError("An action is a string of 1 to 16 bytes")
            self.text += action.string_value.encode()
            return False, None, False
        index = action.int64_value if action.WhichOneof("value") == "int64_value" else -1
        if not 0 <= index < self.action_count:
            raise ValueError(f"Not an action: {str(action).strip()}")
        name = EDIT_NAMES[index]
        new_action_space = self.edit(name)
        return name == "end", new_action_space, self.text == before

    def edit(self, name: str) -> ActionSpace | None:
        if name == "uppercase":
            self.text = self.text.upper()
        elif name == "reverse":
            self.text = self.text[::-1]
        elif name == "rotate":
            self.text = self.text[1:] + self.text[:1]
        elif name == "append-a":
            self.text += b"a"
        elif name == "end-later":
            self.end_later = True
        elif name == "fail":
            raise ServiceError("The action fail left the program invalid")
        elif name == "throw":
            raise RuntimeError("thrown by the action")
        elif name == "restrict":
            self.action_count = RESTRICTED_ACTION_COUNT
            return edit_space(self.action_count)
        elif name == "corrupt":
            self.corrupt = True
        elif name == "crash-later":
            self.crash_later = True
        elif name in ("sleep", "hang", "loop", "run"):
            self.take_time(name)
        else:
            self.misbehave(name)
        return None

    def take_time(self, name: str) -> None:
        if name == "run":
            folder = self.working_directory / f"run.{os.getpid()}"
            folder.mkdir()
            (folder / "file").write_text("left behind")
            command = "ulimit -Sn > command.limit; echo $$ > command.pid; sleep 1000; true"
            subprocess.run(command, shell=True, cwd=self.working_directory, timeout=1000)
            return
        if name == "sleep":
            self.await_release(self.sleep_milliseconds / 1000)
        self.announce_sleep()
        while name == "hang":
            time.sleep(3600)
        while name == "loop":
            pass

    @staticmethod
    def misbehave(name: str) -> None:
        most = allocate_most() if name == "crash-when-full" else b""
        if name == "crash" or most:
            ctypes.memset(4, 1, 1)
        elif name == "abort":
            print("toy: giving up", file=sys.stderr)
            os.abort()
        elif name == "exit":
            os._exit(3)
        elif name == "allocate":
            allocate_without_end()
        elif name == "corrupt-heap":
            corrupt_heap()
        elif name == "chatter":
            for _ in range(16384):
                print("c" * 63, file=sys.stderr)

    def get_observation(self, observation_space: ObservationSpace) -> Event:
        name = observation_space.name
        self.observed += 1
        if name == "text":
            return Event(string_value=self.text.decode())
        if name == "length":
            return Event(int64_value=len(self.text))
        if name == "histogram":
            return Event(int64_tensor=letters([self.text.count(letter) for letter in LETTERS]))
        if name == "bytes":
            return Event(byte_tensor=ByteTensor(shape=[len(self.text)], value=self.text))
        if name == "ratios":
            ratios = [count / len(self.text) for _, count in sorted(Counter(self.text).items())]
            return Event(double_tensor=DoubleTensor(shape=[len(ratios)], value=ratios))
        if name == "counter":
            self.counter += 1
            return Event(int64_value=self.counter)
        if name == "end-of-steps":
            return Event(int64_value=self.end_of_steps)
        if name == "throwing":
            raise RuntimeError("thrown by the observation")
        if self.text.endswith(b"aa"):
            raise TypeError("The observation failing needs another text")
        raise ServiceError("The observation failing cannot be computed")

    def end_of_step(
        self, action_had_no_effect: bool, end_of_session: bool, new_action_space: ActionSpace | None
    ) -> tuple[bool, ActionSpace | None]:
        self.end_of_steps += 1
        if self.corrupt:
            raise ServiceError("The text is corrupt")
        return end_of_session or self.end_later, new_action_space

    def after_reply(self) -> None:
        self.replies += 1
        if self.crash_later:
            (self.working_directory / f"crash.{os.getpid()}").mkdir()
            self.misbehave("crash")

    def save_reproducer(self, action: Event, directory: Path) -> None:
        if (self.working_directory / "no-reproducer").exists():
            raise ServiceError("There is to be no reproducer")
        (directory / "text").write_bytes(self.text)
        (directory / "action").write_text(str(action.int64_value))

    def handle_session_parameter(self, key: str, value: str) -> str | None:
        if key == "toy.set_sleep_milliseconds":
            if not value.isdecimal():
                raise ValueError(f"Not a number of milliseconds: {value}")
            self.sleep_milliseconds = int(value)
            return value
        if key == "toy.get_sleep_milliseconds":
            return str(self.sleep_milliseconds)
        if key == "toy.get_observed":
            return str(self.observed)
        if key == "toy.get_replies":
            return str(self.replies)
        if key == "toy.throw":
            raise RuntimeError(value)
        return None


if __name__ == "__main__":
    create_and_run_compiler_gym_service(ToySession)
