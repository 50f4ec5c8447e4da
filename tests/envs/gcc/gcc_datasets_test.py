import shutil

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.gcc import GccEnv
from compiler_gym.envs.gcc.datasets import (
    CsmithBenchmark,
    GccDatasets,
    compare_with_unoptimised,
)
from compiler_gym.errors import BenchmarkInitError


@pytest.fixture(scope="module")
def env():
    with GccEnv() as env:
        yield env


def test_datasets(env):
    assert isinstance(env.datasets, GccDatasets)
    assert [dataset.name for dataset in env.datasets] == [
        "benchmark://kernels-v0",
        "benchmark://anghabench-v1",
        "benchmark://chstone-v0",
        "benchmark://jotaibench-v0",
        "generator://csmith-v0",
    ]


class TestKernels:
    def test_output_is_validated(self, env):
        env.reset(benchmark="benchmark://kernels-v0/lzss")
        env.step(env.action_space["-Os"])
        assert env.benchmark.is_run_to_validate()
        assert env.validate().okay()

    def test_wrong_output_is_found(self, env, tmp_path):
        benchmark = env.datasets.benchmark("benchmark://kernels-v0/lzss").copy()
        contents = benchmark.proto.program.contents
        benchmark.proto.program.contents = contents.replace(b"int main(", b"int other(") + (
            b'int main(void) { puts("something else"); return 0; }\n'
        )
        env.reset(benchmark=benchmark)
        assert {error.type for error in benchmark.validate(env)} == {"Wrong output"}

    def test_program_without_main(self, env):
        benchmark = env.datasets.benchmark("benchmark://kernels-v0/lzss").copy()
        benchmark.proto.program.contents = b"int nothing;\n"
        env.reset(benchmark=benchmark)
        assert [error.type for error in benchmark.validate(env)] == ["Compilation failed"]


class TestOwnFiles:
    @pytest.fixture
    def program(self, tmp_path):
        (tmp_path / "times.h").write_text("#define TIMES 4\n")
        path = tmp_path / "own program.c"
        path.write_text('#include "times.h"\nint f(int x) { return x * TIMES + PLUS; }\n')
        return path

    def test_make_benchmark(self, env, program):
        benchmark = env.make_benchmark(program, ["-DPLUS=3"])
        env.reset(benchmark=benchmark)
        assert "return x * 4 + 3;" in env.source
        env.reset(benchmark=str(benchmark))
        assert "return x * 4 + 3;" in env.source

    def test_folder_makes_no_difference(self, env, tmp_path, program):
        shutil.copytree(tmp_path, tmp_path / "copy")
        first, second = (
            env.make_benchmark(path, ["-DPLUS=3"]).proto.program
            for path in (program, tmp_path / "copy" / program.name)
        )
        assert first == second

    def test_broken(self, env, program):
        program.write_text('#include "nowhere.h"\n')
        with pytest.raises(BenchmarkInitError, match=r"nowhere\.h"):
            env.make_benchmark(program)

    @pytest.mark.parametrize("option", ["-O2", "-I", "-B/tmp", "x.c"])
    def test_options_of_the_compiler(self, env, program, option):
        with pytest.raises(ValueError, match=f"'{option}'"):
            env.make_benchmark(program, [option])

    def test_missing(self, env, tmp_path):
        with pytest.raises(FileNotFoundError, match="There is no file"):
            env.make_benchmark(tmp_path / "nothing.c")
        with pytest.raises(LookupError, match=r"env\.make_benchmark\('nothing\.c'\)"):
            env.reset(benchmark="nothing.c")


@pytest.mark.skipif(not shutil.which("csmith"), reason="csmith is not installed")
def test_csmith(env):
    env.reset(benchmark="generator://csmith-v0/7")
    assert type(env.benchmark) is CsmithBenchmark
    program, source = env.benchmark.proto.program, env.source
    env.step(env.action_space["-O3"])
    assert env.validate().okay()
    assert "/tmp/" not in source.split("\n")[0]
    env.reset(benchmark="generator://csmith-v0/7")
    assert env.benchmark.proto.program == program


@pytest.mark.parametrize(
    ("program", "type"),
    [
        ('puts(__OPTIMIZE__ ? "optimised" : "not");', "Wrong output"),
        ("return !__OPTIMIZE__;", "Runtime error (1) of the unoptimised program"),
    ],
)
def test_comparison_with_the_unoptimised_program(env, program, type):
    text = "#include <stdio.h>\n#ifndef __OPTIMIZE__\n#define __OPTIMIZE__ 0\n#endif\n"
    text += f"int main(void) {{ {program} return 0; }}\n"
    benchmark = Benchmark.from_file_contents("benchmark://tests-v0/main", text.encode())
    benchmark.add_validation_callback(compare_with_unoptimised)
    env.reset(benchmark=benchmark)
    env.step(env.action_space["-O2"])
    assert [error.type for error in benchmark.validate(env)] == [type]
