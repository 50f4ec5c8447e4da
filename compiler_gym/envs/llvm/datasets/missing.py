"""Datasets of former releases that are not there yet."""

_REASONS = {
    "benchmark://clgen-v0": "it needs a compiler of OpenCL",
}


def describe_missing(name: str) -> str | None:
    """Says why there is no dataset of a name, and what there is instead.

    Args:
        name: The full name of the dataset.

    Returns:
        The text, or None for names that no former release had.
    """
    if name not in _REASONS:
        return None
    return (
        f"Dataset {name} of CompilerGym 0.2.5 is not in this release yet: {_REASONS[name]}. "
        "env.datasets lists the datasets that there are, and env.make_benchmark() makes "
        "benchmarks of your own programs"
    )
