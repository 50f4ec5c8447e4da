"""Reading compile_commands.json."""

import json
from pathlib import Path

import pytest

from compiler_gym.tuning.size.inputs import ProjectSource, read_compile_commands


@pytest.fixture(name="read")
def fixture_read(tmp_path):
    """Writes compile_commands.json, and reads it."""

    def read(content):
        path = tmp_path / "build" / "compile_commands.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_compile_commands(path)

    return read


def test_command_and_arguments(read, tmp_path):
    build = str(tmp_path / "build")
    words = ["cc", "-O3", "-DX=1", "-I", "inc", "-MD", "-MF", "a.d", "-c", "../a.c", "-o", "x/a.o"]
    sources = read(
        [
            {"directory": build, "file": "../a.c", "arguments": words},
            {"directory": build, "file": "b.cc", "command": "c++ -O2 '-DY=\"a b\"' -c b.cc -o b.o"},
            {"directory": f"{build}/sub", "file": "c.c", "command": "cc -c c.c", "output": "c.o"},
        ]
    )
    assert sources == [
        ProjectSource(Path(build), "../a.c", ("-DX=1", "-I", "inc"), Path("x/a.o")),
        ProjectSource(Path(build), "b.cc", ('-DY="a b"',), Path("b.o")),
        ProjectSource(Path(build, "sub"), "c.c", (), Path("sub/c.o")),
    ]
    assert [each.is_cxx for each in sources] == [False, True, False]


def test_objects_outside_of_the_build_stay_in_the_folder_of_object_files(read, tmp_path):
    entry = {"directory": str(tmp_path), "file": "a.c", "command": "cc -c a.c -o a.o"}
    (source,) = read([entry, entry])
    assert source.output == Path("a.o")


def test_language_of_the_command(read, tmp_path):
    entry = {"directory": str(tmp_path), "file": "a.c", "command": "cc -x c++ -c a.c"}
    (source,) = read([entry])
    assert source.is_cxx


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "expected JSON in .*compile_commands.json, got "),
        ({"directory": "x"}, "expected a list of compilations in .*, got something else"),
        ([], "expected compilations in .*, found none"),
        ([{"file": "a.c", "command": "cc -c a.c"}], "entry 0 of .*: expected a key 'directory'"),
        ([{"directory": "x"}], "entry 0 of .*: expected a key 'command'"),
        ([{"directory": "x", "command": "cc -c"}], "entry 0 of .* has no source file"),
    ],
)
def test_other_formats(read, content, message):
    with pytest.raises(ValueError, match=message):
        read(content)
