"""The flag ``--benchmark``."""

from pathlib import Path

from compiler_gym.compat.absl_flags import flags
from compiler_gym.datasets import Benchmark

flags.DEFINE_string(
    "benchmark",
    None,
    "The URI of the benchmark to use, or file:/// and the path of a program in the format of the "
    "compiler; a benchmark of the environment's choice if not given.",
)


def benchmark_from_flags() -> Benchmark | str | None:
    """Returns the benchmark of ``--benchmark``; None without the flag.

    Raises:
        FileNotFoundError: If it names a missing file.
    """
    name = flags.FLAGS.benchmark
    if not name:
        return None
    if name.startswith("file:///"):
        path = Path(name.removeprefix("file://"))
        return Benchmark.from_file(uri=f"benchmark://file-v0{path}", path=path)
    return name
