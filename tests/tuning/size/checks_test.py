"""Checks of object files."""

from pathlib import Path

from compiler_gym.tuning.size.inputs import command_check


def test_exit_code_decides_and_the_file_is_named_in_two_ways(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "some file.o"
    path.write_text("contents\n")
    assert command_check("true")(path) == ""
    assert command_check("false")(path) == "exit code 1"
    assert command_check("echo why >&2; exit 3")(path) == "exit code 3: why"
    assert command_check("echo >&2; echo why; exit 3")(path) == "exit code 3: why"
    assert command_check("kill -SEGV $$")(path) == "killed by SIGSEGV"
    long = "{} " + "o" * (500 - len(str(path)))  # Its end would begin within the name.
    assert command_check(f"echo {long}; exit 3")(path) == f"exit code 3: {long}"
    assert command_check('test "$(cat {})" = contents && cmp {} "$OBJECT"')(path) == ""
    # In the folder of the user.
    assert command_check("touch here")(path) == ""
    assert Path("here").exists()


def test_clang_need_not_be_on_the_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert command_check("clang --version")(tmp_path / "file.o") == ""
