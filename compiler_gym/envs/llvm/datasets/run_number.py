"""The number of a program's run in a benchmark URI."""

from compiler_gym.datasets import BenchmarkUri


def run_number(uri: BenchmarkUri, runs: int) -> int:
    """Returns the parameter ``dataset`` of a URI; 0 by default.

    Args:
        uri: The URI of a benchmark.
        runs: The number of runs.

    Raises:
        ValueError: There is another parameter, or the number is out of range.
    """
    unknown = set(uri.params) - {"dataset"}
    if unknown:
        raise ValueError(
            f"Unknown parameter '{min(unknown)}' of benchmark {uri}: only 'dataset' is known"
        )
    values = uri.params.get("dataset", ["0"])
    if len(values) != 1 or values[0] not in map(str, range(runs)):
        raise ValueError(
            f"Parameter 'dataset' of benchmark {uri} is out of range: it must be one number from 0 "
            f"to {runs - 1}"
        )
    return int(values[0])
