"""Random C programs."""

import tempfile
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.gcc.datasets.preprocessing import preprocess
from compiler_gym.envs.gcc.datasets.validation import compare_with_unoptimised
from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.envs.llvm.datasets import generators
from compiler_gym.service.proto import Benchmark as BenchmarkProto


class CsmithDataset(generators.CsmithDataset):
    """Random C programs by Csmith, preprocessed by the GCC that compiles them.

    What they print must be what it is without options of the compiler.

    Args:
        gcc: The compiler.
        site_data_base: The directory of all datasets; not used.
        sort_order: Datasets are listed by this number.
    """

    def __init__(self, gcc: Gcc, site_data_base: str | Path | None = None, sort_order: int = 0):
        super().__init__(site_data_base, sort_order)
        self._gcc = gcc

    def _make(self, seed: int) -> tuple[BenchmarkSource, bytes]:
        csmith = generators.csmith_path()
        source = generators.csmith_source(csmith, seed)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-csmith-") as name:
            path = Path(name, "program.c")
            path.write_bytes(source)
            program = preprocess(self._gcc, path, includes=[generators.headers_of_csmith(csmith)])
        return BenchmarkSource("program.c", source), program

    def _dynamic_config(self) -> None:
        """They are run when they are validated, and how that knows by itself."""

    def _benchmark(self, proto: BenchmarkProto, source: BenchmarkSource) -> Benchmark:
        return generators.CsmithBenchmark(
            proto, validation_callbacks=[compare_with_unoptimised], sources=[source]
        )
