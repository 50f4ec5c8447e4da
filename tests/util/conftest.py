"""A FIFO that tells whether processes are left that have it open."""

import os

import pytest


@pytest.fixture
def fifo(tmp_path):
    """The path of a FIFO, and the file to read it by, which waits for writers."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    # Opened without waiting for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        yield path, file
