import io
import tarfile

import pytest

from compiler_gym.datasets.tar_dataset import unpack_tar


def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, contents=b""):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    info.mode = mode
    info.size = len(contents)
    return info, contents


@pytest.fixture
def archive(tmp_path):
    """Returns a function that makes an archive of members."""

    def make(*members, compression="gz"):
        path = tmp_path / "archive"
        with tarfile.open(path, f"w:{compression}") as tar:
            for info, contents in members:
                tar.addfile(info, io.BytesIO(contents))
        return path

    return make


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_files(archive, tmp_path, compression):
    path = archive(
        member("top/a", contents=b"1"),
        member("top/sub", tarfile.DIRTYPE),
        member("top/sub/b", contents=b"2"),
        member("other/c", contents=b"3"),
        compression=compression,
    )
    assert unpack_tar(path, compression, "", tmp_path / "all") == 3
    assert files(tmp_path / "all") == {"top/a": b"1", "top/sub/b": b"2", "other/c": b"3"}
    assert unpack_tar(path, compression, "top", tmp_path / "part") == 2
    assert files(tmp_path / "part") == {"a": b"1", "sub/b": b"2"}
    assert unpack_tar(path, compression, "top/sub/", tmp_path / "sub") == 1
    assert unpack_tar(path, compression, "to", tmp_path / "none") == 0


def test_leading_dot(archive, tmp_path):
    path = archive(member("./top", tarfile.DIRTYPE), member("./top/a", contents=b"1"))
    assert unpack_tar(path, "gz", "top", tmp_path / "out") == 1


@pytest.mark.parametrize("name", ["../evil", "/evil", "top/../../evil", "top/sub/.."])
def test_unsafe_names(archive, tmp_path, name):
    path = archive(member("top/a"), member(name, contents=b"evil"))
    with pytest.raises(ValueError, match="is unsafe"):
        unpack_tar(path, "gz", "", tmp_path / "out")
    assert not list(tmp_path.rglob("evil"))


def test_links_become_copies(archive, tmp_path):
    path = archive(
        member("top/a", contents=b"1"),
        member("top/hard", tarfile.LNKTYPE, "top/a"),
        member("top/soft", tarfile.SYMTYPE, "a"),
    )
    assert unpack_tar(path, "gz", "top", tmp_path / "out") == 3
    assert files(tmp_path / "out") == {"a": b"1", "hard": b"1", "soft": b"1"}
    assert not any(path.is_symlink() for path in (tmp_path / "out").iterdir())


def test_links_out_of_the_archive_are_left_out(archive, tmp_path):
    (tmp_path / "outside").mkdir()
    path = archive(
        member("top/a", contents=b"1"),
        member("top/passwd", tarfile.SYMTYPE, "/etc/passwd"),
        member("top/up", tarfile.SYMTYPE, "../../outside"),
        member("top/up/evil", contents=b"evil"),
        member("top/self", tarfile.SYMTYPE, "self"),
        member("top/gone", tarfile.SYMTYPE, "gone-file"),
        member("top/fifo", tarfile.FIFOTYPE),
        member("top/device", tarfile.CHRTYPE),
    )
    assert unpack_tar(path, "gz", "top", tmp_path / "out") == 2
    assert files(tmp_path / "out") == {"a": b"1", "up/evil": b"evil"}
    assert not list((tmp_path / "outside").iterdir())


def test_modes(archive, tmp_path):
    path = archive(member("run", mode=0o4755), member("read", mode=0o644))
    unpack_tar(path, "gz", "", tmp_path / "out")
    assert (tmp_path / "out/run").stat().st_mode & 0o7111 == 0o111
    assert (tmp_path / "out/read").stat().st_mode & 0o7111 == 0
