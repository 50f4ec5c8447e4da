"""Plugins of ``opt`` for the LLVM service."""

from collections.abc import Iterable
from pathlib import Path


def plugin_options(plugins: Iterable[str | Path]) -> list[str]:
    """Returns the options that make the LLVM service load plugins.

    Args:
        plugins: Files, or texts ``"FILE.so:pass,pass"``. Relative paths start at the current
            folder.

    Raises:
        FileNotFoundError: If there is no such file.
        TypeError: If it is a single path rather than several.
    """
    if isinstance(plugins, str | Path):
        raise TypeError(f"pass_plugins is a list of plugins: write [{str(plugins)!r}]")
    return [f"--load-pass-plugin={_with_absolute_path(str(plugin))}" for plugin in plugins]


def _with_absolute_path(plugin: str) -> str:
    if Path(plugin).is_file():
        return str(Path(plugin).absolute())
    path, colon, names = plugin.rpartition(":")
    if not colon or not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no pass plugin {path or plugin}. Give the path of a file, or FILE:pass,pass"
        )
    return f"{Path(path).absolute()}:{names}"
