import itertools
import subprocess
from pathlib import Path

import pytest

from compiler_gym.envs.llvm.benchmarks import validation
from compiler_gym.envs.llvm.benchmarks.own_programs import make_benchmark_from_source
from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramRun,
    ProgramValidator,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.util import llvm_tools

COMMANDLINE = "opt -discard-value-names -passes='module(function(sroa))' input.bc -o output.bc"
SOURCE = "int main(void) { int x = 1; return x - 1; }"


class OptEnv:
    """The part of an environment that validation uses, implemented with opt.

    Args:
        applied: The pipeline that was applied.
        commandline: What the environment says it has applied.
    """

    def __init__(self, folder, source=SOURCE, applied="function(sroa)", commandline=COMMANDLINE):
        self._commandline = commandline
        self._pristine = folder / "pristine.bc"
        self._current = folder / "current.bc"
        program = make_benchmark_from_source(source, lang="c").proto.program.contents
        opt = [llvm_tools.opt_path(), "-discard-value-names", "-"]
        for path, passes in ((self._pristine, []), (self._current, [f"-passes=module({applied})"])):
            subprocess.run([*opt, *passes, "-o", path], input=program, check=True, timeout=250)

    def commandline(self):
        return self._commandline

    benchmark = "benchmark://user-v0/x"

    def write_input(self, path):
        Path(path).write_bytes(self._pristine.read_bytes())
        return Path(path)

    def write_bitcode(self, path):
        Path(path).write_bytes(self._current.read_bytes())
        return Path(path)


def errors_of(validator, env):
    return [error.type for error in validator(env)]


def make_run(folder, stdin="", expected=""):
    (folder / "input-0.txt").write_text(stdin)
    (folder / "expected-0.txt").write_text(expected)
    return ProgramRun(folder / "input-0.txt", folder / "expected-0.txt")


def test_different_from_opt(tmp_path):
    env = OptEnv(tmp_path, applied="function(sroa,instsimplify)")
    errors = list(validate_against_opt(env))
    assert [error.type for error in errors] == ["Bitcode differs from opt"]
    assert errors[0].data["commandline"] == COMMANDLINE
    assert errors[0].data["environment_sha1"] != errors[0].data["opt_sha1"]


def test_unstable_opt(tmp_path, monkeypatch):
    numbers = itertools.count()

    def run_opt(commandline, folder, check):
        (folder / "output.bc").write_text(str(next(numbers) // 3))
        return subprocess.CompletedProcess(commandline, 0)

    monkeypatch.setattr(validation, "run_opt", run_opt)
    assert errors_of(validate_against_opt, OptEnv(tmp_path)) == ["opt is not deterministic"]


def test_failing_opt(tmp_path):
    commandline = COMMANDLINE.replace("sroa", "no-such-pass")
    errors = list(validate_against_opt(OptEnv(tmp_path, commandline=commandline)))
    assert [error.type for error in errors] == ["opt failed"]
    assert "no-such-pass" in errors[0].data["stderr"]


def test_time_limits(tmp_path, monkeypatch):
    env = OptEnv(tmp_path)
    monkeypatch.setattr(validation, "OPT_TIMEOUT_SECONDS", 1e-6)
    assert errors_of(validate_against_opt, env) == ["opt timeout"]
    env = OptEnv(tmp_path)
    monkeypatch.setattr(validation, "COMPILE_TIMEOUT_SECONDS", 1e-6)
    assert errors_of(ProgramValidator([make_run(tmp_path)]), env) == ["Compilation timeout"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ('puts("different");', "Wrong output"),
        ("", "Wrong output"),
        ('puts("right"); return 3;', "Runtime error (3)"),
        ("abort();", "Runtime error (-6)"),
        ("*(volatile int *)8 = 1;", "Segmentation fault"),
        ("__builtin_trap();", "Illegal Instruction"),
        ("pause();", "Execution timeout"),
        ("if (!fork()) pause(); else for (;;) pause();", "Execution timeout"),
        ('for (;;) puts(getenv("HOME"));', "Runtime error (-25)"),
    ],
)
def test_wrong_programs(tmp_path, monkeypatch, body, error):
    if "pause" in body:
        monkeypatch.setattr(validation, "RUN_TIMEOUT_SECONDS", 1)
    monkeypatch.setenv("HOME", "x" * 1000)
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        f"int main(void) {{ {body} return 0; }}"
    )
    validator = ProgramValidator([make_run(tmp_path, expected="right\n")])
    assert errors_of(validator, OptEnv(tmp_path, source)) == [error]


@pytest.mark.parametrize(("failures", "verdict"), [(1, "(flaky)"), (4, "(flaky)"), (5, "")])
def test_flaky_failures_are_distinguished(tmp_path, failures, verdict):
    # A run leaves a mark, and fails as long as there are too few.
    marks = tmp_path / "marks"
    command = f'echo x >> {marks}; [ "$(wc -l < {marks})" -gt {failures} ]'
    run = ProgramRun(command=command, is_confined=False)
    (error,) = ProgramValidator([run])(OptEnv(tmp_path))
    assert error.type == f"Runtime error (1) {verdict}".strip()
    assert error.data["runs"] == len(marks.read_text().splitlines()) == min(failures + 1, 5)


def test_program_does_not_link(tmp_path):
    source = "int missing(void); int main(void) { return missing(); }"
    errors = list(ProgramValidator([make_run(tmp_path)])(OptEnv(tmp_path, source)))
    assert [error.type for error in errors] == ["Compilation failed"]
    assert "missing" in errors[0].data["stderr"]


PRINTS = """
#include <stdio.h>
#include <unistd.h>
int main(void) { %s }
"""


@pytest.mark.parametrize(
    ("body", "error"), [("pause();", "Execution timeout"), ("return 1;", "Runtime error (1)")]
)
def test_nothing_is_compared_with_a_program_that_fails(tmp_path, body, error):
    validator = ReferenceValidator(reference_seconds=1)
    errors = errors_of(validator, OptEnv(tmp_path, PRINTS % body))
    assert errors == [f"{error} of the unoptimised program"]


def test_commands_run_in_a_folder_of_their_own(tmp_path):
    run = make_run(tmp_path, expected="a.out\n0\n")
    command = "ls && ./a.out && echo $? | tee left-over"
    run = ProgramRun(expected_stdout=run.expected_stdout, command=command)
    assert errors_of(ProgramValidator([run, run]), OptEnv(tmp_path)) == []


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("./a.out; exit 3", "Runtime error (3)"),
        ("sh -c 'kill -SEGV $$' && ./a.out", "Segmentation fault"),
        ("./a.out && echo other", "Wrong output"),
    ],
)
def test_errors_of_commands(tmp_path, command, error):
    run = make_run(tmp_path, expected="right\n")
    run = ProgramRun(expected_stdout=run.expected_stdout, command=command)
    (found,) = ProgramValidator([run])(OptEnv(tmp_path))
    assert found.type == error
    assert found.data["input"] == command


def test_programs_are_confined(tmp_path):
    """A program reads no file but those that its command names, unless it has all rights."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    source = f"""
    #include <stdio.h>
    int main(void) {{ return fopen("{secret}", "r") ? 3 : 0; }}
    """
    env = OptEnv(tmp_path, source)
    named = f": {secret}; ./a.out"
    for run, errors in (
        (ProgramRun(), []),
        (ProgramRun(command=named), ["Runtime error (3)"]),
        (ProgramRun(is_confined=False), ["Runtime error (3)"]),
    ):
        assert errors_of(ProgramValidator([run]), env) == errors
    assert errors_of(ReferenceValidator(), env) == []
    free = errors_of(ReferenceValidator(is_confined=False), env)
    assert free == ["Runtime error (3) of the unoptimised program"]


def test_paths_that_a_command_names():
    run = ProgramRun(command="./a.out -C / 'a/tmp' -T /tmp <\"/usr\" -L/etc --x=/var /none")
    named = {"/", "/tmp", "/usr", "/var", "/etc"}
    assert set(map(str, run.named_paths)) == named
