from pathlib import Path

import pytest

import compiler_gym
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import with_sanitizers
from compiler_gym.envs.llvm.benchmarks.bitcode import check_bounds
from compiler_gym.envs.llvm.benchmarks.own_programs import make_benchmark_from_source
from compiler_gym.envs.llvm.benchmarks.sanitizers import SANITIZERS, SanitizerValidator
from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from tests.effort import sample
from tests.envs.llvm.kernel_programs import kernel_uri

SUPPORTED = [name for name in SANITIZERS if name != "undefined" or llvm_tools.llvm_version() >= 20]

RIGHT = "int main(void) { return 0; }"
WRONG = {
    "address": (
        "#include <stdlib.h>\nint main(void) { char* p = malloc(16); p[17] = 1; return 0; }",
        "Memory error",
    ),
    "memory": (
        "#include <stdlib.h>\n#include <stdio.h>\n"
        'int main(void) { int* p = malloc(16); if (*p == 77) puts("77"); return 0; }',
        "Memory error",
    ),
    "thread": (
        "#include <pthread.h>\nint shared;\n"
        "void* work(void* p) { for (int i = 0; i < 10000; i++) shared++; return p; }\n"
        "int main(void) { pthread_t a, b; pthread_create(&a, 0, work, 0);\n"
        "  pthread_create(&b, 0, work, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }",
        "Data race",
    ),
    "undefined": (
        "int table[4];\nint main(int count, char** words) { return table[count + 3]; }",
        "Memory error",
    ),
}


class TwoPrograms:
    """The part of an environment that validation uses: the program, and its original form."""

    benchmark = "benchmark://user-v0/x"

    def __init__(self, before, after):
        self._before, self._after = (
            make_benchmark_from_source(source, lang="c").proto.program.contents
            for source in (before, after)
        )

    def write_input(self, path):
        Path(path).write_bytes(self._before)
        return Path(path)

    def write_bitcode(self, path):
        Path(path).write_bytes(self._after)
        return Path(path)


def errors_of(sanitizer, before, after):
    validator = SanitizerValidator([ProgramRun()], ["-lm"], sanitizer)
    return list(validator(TwoPrograms(before, after)))


@pytest.mark.parametrize("sanitizer", sample(SUPPORTED, 2))
def test_findings_of_a_sanitizer(sanitizer):
    wrong, kind = WRONG[sanitizer]
    (error,) = errors_of(sanitizer, RIGHT, wrong)
    assert (error.type, error.data["sanitizer"]) == (kind, sanitizer)
    assert errors_of(sanitizer, RIGHT, RIGHT) == []
    (error,) = errors_of(sanitizer, wrong, RIGHT)
    assert error.type == f"{kind} of the unoptimised program"


def test_older_llvm_cannot_check_bounds(monkeypatch, tmp_path):
    monkeypatch.setattr(llvm_tools, "llvm_version", lambda: 19)
    with pytest.raises(EnvironmentNotSupported, match="LLVM 20"):
        check_bounds(tmp_path / "program.bc", tmp_path / "checked.bc")


def test_program_changed_by_passes():
    with compiler_gym.make("llvm-v0") as env:
        program = env.datasets.benchmark(kernel_uri("sha256"))
        sanitizers = sample([name for name in SUPPORTED if name != "thread"], 1)
        sanitized = with_sanitizers(program, sanitizers)
        added = len(sanitized.validation_callbacks()) - len(program.validation_callbacks())
        assert added == len(sanitizers)
        assert sanitized.uri == program.uri
        env.reset(benchmark=sanitized)
        env.multistep(["sroa", "inline", "gvn", "loop-unroll"])
        result = env.validate()
        assert result.okay() and result.benchmark_semantics_validated


def test_invalid_arguments():
    program = Benchmark.from_file_contents("benchmark://user-v0/x", b"")
    with pytest.raises(ValueError, match="command"):
        with_sanitizers(program)
    with pytest.raises(ValueError, match=r"'leak'.*address"):
        with_sanitizers(program, ["leak"])
