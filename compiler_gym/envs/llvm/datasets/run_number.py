"""The number of a program's run in a benchmark URI."""

from compiler_gym.datasets import BenchmarkUri


def run_number(uri: BenchmarkUri, runs: int) -> int:
    """Returns the value of the URI's parameter ``dataset``; by default 0.

    Args:
        uri: The URI of a benchmark.
        runs: How many runs there are.

    Raises:
        ValueError: There is another parameter, or it is not the number of a run.
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
