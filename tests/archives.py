"""Archives for tests."""

import io
import tarfile


def tar_of(files: dict[str, bytes], compression: str = "gz") -> bytes:
    """Returns an archive of files, given by their paths."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{compression}") as tar:
        for path, contents in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(contents)
            tar.addfile(member, io.BytesIO(contents))
    return data.getvalue()
