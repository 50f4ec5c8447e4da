"""A service whose sessions do what tests tell them in Python.

An action is code, in which `self` is the session. It may set `self.tricks[method]` to an expression
that the method evaluates, and returns. The observation is `self.value`, an int.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from compiler_gym.errors import ServiceError, ServiceOSError
from compiler_gym.service import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    Event,
    Int64Range,
    NamedDiscreteSpace,
    ObservationSpace,
    Space,
    StringSpace,
)
from compiler_gym.service.runtime import create_and_run_compiler_gym_service

# What code may use.
NAMES: dict[str, Any] = {
    module.__name__: module for module in (os, random, subprocess, sys, tempfile, threading, time)
} | {
    "ActionSpace": ActionSpace,
    "Event": Event,
    "NamedDiscreteSpace": NamedDiscreteSpace,
    "ServiceError": ServiceError,
    "ServiceOSError": ServiceOSError,
    "Space": Space,
}

ANY = Int64Range()


class EvaluatingSession(CompilationSession):
    """Does as it is told."""

    action_spaces = (
        ActionSpace(name="code", space=Space(string_value=StringSpace(length_range=ANY))),
    )
    observation_spaces = (
        ObservationSpace(name="value", space=Space(int64_value=ANY), deterministic=True),
    )

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        super().__init__(working_directory, action_space, benchmark)
        self.tricks: dict[str, str] = {}
        self.value = 0
        exec(benchmark.program.contents, self.names)

    @property
    def names(self) -> dict[str, Any]:
        return NAMES | {"self": self}

    def trick(self, method: str, otherwise: Any) -> Any:
        return eval(self.tricks[method], self.names) if method in self.tricks else otherwise

    def apply_action(self, action: Event) -> Any:
        exec(action.string_value, self.names)
        return self.trick("apply_action", (False, None, False))

    def get_observation(self, observation_space: ObservationSpace) -> Any:
        assert observation_space is self.observation_spaces[0]
        return self.trick("get_observation", Event(int64_value=self.value))

    def begin_step(self, actions: int) -> None:
        self.trick("begin_step", None)

    def end_of_step(self, had_no_effect: bool, end: bool, space: ActionSpace | None) -> Any:
        return self.trick("end_of_step", None)

    def handle_session_parameter(self, key: str, value: str) -> Any:
        return str(eval(value, self.names)) if key == "eval" else self.trick(key, None)

    def forkable(self) -> bool:
        return self.trick("forkable", True)

    def after_fork(self) -> None:
        self.trick("after_fork", None)

    def close(self) -> None:
        self.trick("close", None)


if __name__ == "__main__":
    create_and_run_compiler_gym_service(EvaluatingSession)
