"""Prints the folders of the Python package with their imports from each other, as a Markdown table.

Usage: ``python -m tools.import_table [CHECKOUT]``.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

from tools.import_graph import import_graph

PACKAGE = "compiler_gym"
MAX_IMPORTS = 3


def folder_of(module: str, packages: set[str]) -> str:
    """Returns the top folder of a module; folders of environments count by themselves."""
    package = module if module in packages else module.rpartition(".")[0]
    parts = package.split(".")
    return "/".join(parts[: 3 if parts[1:2] == ["envs"] else 2])


def main() -> None:
    """Prints the table, the largest folder first."""
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    graph = import_graph(checkout / PACKAGE)
    packages = {
        ".".join(path.parent.relative_to(checkout).parts)
        for path in (checkout / PACKAGE).rglob("__init__.py")
    }
    sizes: Counter[str] = Counter()
    imports: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for module in graph:
        folder = folder_of(module, packages)
        sizes[folder] += 1
        others = (folder_of(each, packages) for each in graph.successors(module))
        imports[folder].update(each for each in others if each != folder)
    print("| folder | modules | imports from |\n| --- | ---: | --- |")
    for folder, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        most = sorted(imports[folder].items(), key=lambda each: (-each[1], each[0]))[:MAX_IMPORTS]
        text = ", ".join(f"{name.removeprefix(f'{PACKAGE}/')} {count}" for name, count in most)
        print(f"| `{folder}/` | {size} | {text} |")


if __name__ == "__main__":
    main()
