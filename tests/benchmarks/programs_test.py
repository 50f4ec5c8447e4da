import pytest

from benchmarks.programs import PROGRAMS
from benchmarks.replay import Replay


@pytest.mark.parametrize("size", PROGRAMS)
def test_program_has_about_its_size(size, tmp_path, replay_binary):
    path = PROGRAMS[size].make(tmp_path)
    with Replay(replay_binary, path) as replay:
        assert replay.start().instructions == pytest.approx(size, rel=0.15)


@pytest.mark.parametrize("size", PROGRAMS)
def test_program_is_the_same_every_time(size, tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    contents = []
    for folder in folders:
        folder.mkdir()
        contents.append(PROGRAMS[size].make(folder).read_bytes())
    assert contents[0] == contents[1]
