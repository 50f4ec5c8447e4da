"""Slots of GNU make's jobserver."""

import os
import subprocess
import threading
from contextlib import ExitStack

import pytest

from compiler_gym.util.commands import JobSlots, served_slots
from tests.processes import wait_until


def held_at_once(slots, wanted, most):
    """Starts threads that each hold a slot; returns how many do when no more can."""
    end, holding = threading.Event(), []

    def hold(number):
        with slots.hold():
            holding.append(number)
            end.wait(100)

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(wanted)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(holding) >= most)
    count = len(holding)
    end.set()
    for thread in threads:
        thread.join(60)
    assert sorted(holding) == list(range(wanted))
    return count


def test_a_program_has_its_own_slot_and_those_of_the_server(tmp_path):
    with served_slots(2, tmp_path) as served:
        slots = JobSlots.from_environment({"MAKEFLAGS": served.makeflags})
        for _ in range(2):  # All slots have been given back.
            assert held_at_once(slots, wanted=5, most=3) == 3
        with slots.hold(), slots.hold(), slots.hold():
            # Another program has a slot of its own, and no other is left.
            other = JobSlots.from_environment({"MAKEFLAGS": served.makeflags})
            assert held_at_once(other, wanted=2, most=1) == 1


def test_slots_are_given_back_after_an_error(tmp_path):
    with served_slots(0, tmp_path) as served:
        served.add(1)
        slots = JobSlots.from_environment({"MAKEFLAGS": served.makeflags})
        with pytest.raises(KeyError), slots.hold(), slots.hold():
            raise KeyError
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(slots.hold())


def test_descriptors_of_older_versions_of_make():
    read, write = os.pipe()
    try:
        os.write(write, b"+")
        for name in ("auth", "fds"):
            flags = {"MAKEFLAGS": f"kw -j2 --jobserver-{name}={read},{write}"}
            slots = JobSlots.from_environment(flags)
            with slots.hold(), slots.hold():
                pass
            # Who shares the descriptors may go on to wait for tokens.
            assert os.get_blocking(read) and os.get_blocking(write)
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    "flags",
    [
        *("", "kw", "-j2 --jobserver-auth=fifo:/none", "-j --jobserver-auth=998,999"),
        "--jobserver-auth=fifo:FOLDER/file",  # It is no jobserver.
    ],
)
def test_no_jobserver(flags, tmp_path):
    (tmp_path / "file").write_text("++")
    flags = flags.replace("FOLDER", str(tmp_path))
    assert JobSlots.from_environment({"MAKEFLAGS": flags}) is None
    assert JobSlots.from_environment({}) is None


def test_make_names_its_jobserver(tmp_path):
    (tmp_path / "Makefile").write_text("all:\n\t+@echo $(MAKEFLAGS)\n")
    done = subprocess.run(["make", "-j3"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "--jobserver-auth=" in done.stdout
