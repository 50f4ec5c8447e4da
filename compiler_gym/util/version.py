"""The version of this package."""

from pathlib import Path

_PACKAGE_FOLDER = Path(__file__).parents[1]


def package_version() -> str:
    """Returns the version of the installed package, or that of the source tree."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution("compiler_gym")
        # A source tree on the path comes before an installed package.
        if Path(str(installed.locate_file("compiler_gym"))).resolve() == _PACKAGE_FOLDER.resolve():
            return installed.version
    except PackageNotFoundError:
        pass
    return (_PACKAGE_FOLDER.parent / "VERSION").read_text().strip()
