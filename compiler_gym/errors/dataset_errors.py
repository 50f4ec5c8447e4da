"""Errors of obtaining programs to compile.

The names are those of the documented interface, hence the suppressed naming rule.
"""


class BenchmarkInitError(OSError, ValueError):
    """A benchmark cannot be used.

    Raised when a program cannot be made or loaded: its source does not compile, its
    bitcode does not parse, a file of it is missing, or it lacks the commands that the
    requested observation or reward needs.
    """


class DatasetInitError(OSError):
    """A dataset cannot be installed.

    Raised at the first use of a dataset whose files are incomplete, of unexpected
    layout, or cannot be written to the site data directory.
    """


class DownloadFailed(OSError):  # noqa: N818
    """A file could not be downloaded.

    Raised when a dataset is to be installed without network, from an address that no
    longer exists, or when what arrives does not have the expected checksum.
    """


class TooManyRequests(DownloadFailed):
    """A server refused a download because there were too many.

    Raised after the download has been retried with growing waits; try again later.
    """
