"""Leads links to sources to the pages that the site generates from them.

Pages of ``docs/`` link to files of the repository only, so that links work in a clone as well.
"""

import os
import re
from pathlib import Path

# Pages of the site by the file of the repository that pages link to.
GENERATED = {
    "CHANGELOG.md": "contributing/changelog.md",
    "compiler_gym/__init__.py": "reference/python.rst",
    "compiler_gym/service/CompilationSession.h": "reference/cpp.rst",
    "docs/notebooks/first-steps.ipynb": "notebooks/first-steps.md",
    "docs/notebooks/shrink-a-program.ipynb": "notebooks/shrink-a-program.md",
    "docs/notebooks/train-a-policy.ipynb": "notebooks/train-a-policy.md",
    "llvm_service/actions/descriptions.yaml": "environments/llvm-actions.md",
    "llvm_service/actions/policy.yaml": "environments/llvm-actions.md",
    "proto/compiler_gym_service.proto": "reference/protocol.md",
}

# A link whose text is the id of an environment, to the text that all variants share.
_VARIANT = re.compile(r"(\[`([\w-]+)`\]\([\w./]*)variant\.md\)")
_LINK = re.compile(r"(?<=\]\()[\w./-]+(?=[)#])")


def link_to_generated_pages(source: Path) -> None:
    """Changes the links of all pages in a copy of ``docs``."""
    for page in source.rglob("*.md"):
        folder = page.parent.relative_to(source)
        text = page.read_text(encoding="utf-8")
        page.write_text(with_links_of_site(text, folder), encoding="utf-8")


def with_links_of_site(text: str, folder: Path) -> str:
    """Returns the text of a page in a folder of ``docs`` with the links of the site."""

    def link(found: re.Match[str]) -> str:
        target = GENERATED.get(os.path.normpath("docs" / folder / found[0]))
        return os.path.relpath(target, folder) if target else found[0]

    return _LINK.sub(link, _VARIANT.sub(r"\1\2.md)", text))
