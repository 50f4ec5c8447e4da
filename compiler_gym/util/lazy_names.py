"""Names of packages that are imported when they are first used."""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str,
    modules: Mapping[str, str],
    packages: Collection[str] = (),
    **made: Callable[[], Any],
) -> Callable[[str], Any]:
    """Returns the function ``__getattr__`` of a package.

    Hide it from type checkers by ``if not TYPE_CHECKING``: they would accept any name.

    Args:
        package: The ``__name__`` of the package.
        modules: The module of each name, as ``".module"`` of the package.
        packages: The packages below it that are names, too.
        **made: Functions that return the values of other names.
    """

    def get(name: str) -> Any:
        if name in made:
            return made[name]()
        if name in packages:
            return import_module(f".{name}", package)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], package), name)

    return get
