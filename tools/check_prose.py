#!/usr/bin/env python3
"""Checks that texts are in plain English, as far as a machine can tell.

It looks at headings, phrases and the length of sentences in documents, and at the first words of
docstrings and of comments at the top of C++ files.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 30

OPENING = re.compile(r"(What|How|Where|Who|Whose|That|Whether)\b(?!.*\?$)")
PHRASES = {
    "anew": "again",
    "cannot be had": "is not available",
    "comes of it": "the result",
    "for who ": "for those who",
    "is looked for": "is searched for",
    "is wanted": "is expected",
    "it pays for": "it helps",
    "mended": "fixed",
    "mends": "fixes",
    "no more than these many": "at most",
    "of one's own": "of your own",
    "the one which": "the one that",
    "to be had": "available",
    "what there is to see": "the observations",
    "what is known of": "the facts about",
    "where that has": "if it has",
    "whoever": "anybody who",
}
_PHRASE = re.compile("|".join(rf"\b{re.escape(phrase)}" for phrase in PHRASES), re.I)
_NOT_OURS = ("compiler_gym/data/", "web/node_modules/", "CHANGELOG.md")


class Finding(NamedTuple):
    """A place in a text that breaks a rule."""

    path: str
    line: int
    text: str


def main() -> int:
    """Prints the findings, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="check these files only")
    options = parser.parse_args()
    findings = [each for path in options.files or tracked() for each in check(path)]
    for each in findings:
        print(f"{each.path}:{each.line}: {each.text}")
    return bool(findings)


def tracked() -> list[str]:
    """Returns the texts of the repository."""
    names = ("*.md", "*.py", "*.h", "*.cc")
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [path for path in files if not path.startswith(_NOT_OURS) and (ROOT / path).is_file()]


def check(path: str) -> Iterator[Finding]:
    """Yields the findings in a file, given by its path from the root."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        found = in_document(text)
    elif path.endswith(".py"):
        found = in_python(text)
    else:
        found = in_cpp(text)
    return (Finding(str(path), line, message) for line, message in found)


def in_document(text: str) -> Iterator[tuple[int, str]]:
    """Yields lines and messages about a document in Markdown."""
    for line, paragraph in paragraphs(text):
        heading = re.match(r"#+ (.*)", paragraph)
        if heading and OPENING.match(heading[1]):
            yield line, f"a heading opens with {heading[1].split()[0]!r}; write a noun phrase"
        for match in _PHRASE.finditer(paragraph):
            yield line, f"{match[0]!r}: write {PHRASES[match[0].lower()]!r}, or rephrase"
        if not paragraph.startswith("|"):
            for sentence in long_sentences(paragraph):
                count = len(sentence.split())
                yield line, f"{count} words in a sentence, at most {MAX_WORDS}: {sentence[:60]}..."


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yields the paragraphs, items, rows and headings outside of code, with their lines."""
    lines = text.splitlines()
    fence = None
    begun, parts = 1, []
    for number, line in enumerate([*lines, ""], 1):
        marker = re.match(r"\s*(```+|:::+|~~~+)", line)
        if fence is None and marker and marker[1][0] != ":":
            fence, line = marker[1], ""
        elif fence is not None:
            fence = None if line.strip() == fence else fence
            continue
        if not line.strip() or marker or re.match(r"\s*([-*|#>]|\d+\.|<!--)(\s|$|\|)", line):
            if parts:
                yield begun, " ".join(parts)
            parts = []
        if line.strip() and not marker:
            begun = begun if parts else number
            parts.append(line.strip())


def long_sentences(paragraph: str) -> Iterator[str]:
    """Yields the sentences that are too long. A piece of code counts as one word."""
    plain = re.sub(r"`+[^`]*`+", "CODE", paragraph)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"^([-*>#]|\d+\.)+\s+", "", plain)
    for sentence in re.split(r"(?<=[.!?:;])[\"')*]*\s+", plain):
        if len(sentence.split()) > MAX_WORDS:
            yield sentence


def in_python(text: str) -> Iterator[tuple[int, str]]:
    """Yields lines and messages about the docstrings of a module."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and (docstring := ast.get_docstring(node)):
            yield from about_opening(docstring, getattr(node, "lineno", 1), "a docstring")


def in_cpp(text: str) -> Iterator[tuple[int, str]]:
    """Yields lines and messages about the comment at the top of a C++ file."""
    if match := re.match(r"///? (.*)", text):
        yield from about_opening(match[1], 1, "the first comment")


def about_opening(text: str, line: int, place: str) -> Iterator[tuple[int, str]]:
    """Yields a message if a text opens with a clause."""
    first = text.partition("\n")[0]
    if OPENING.match(first):
        yield line, f"{place} opens with {first.split()[0]!r}; write a noun phrase or a verb"


if __name__ == "__main__":
    sys.exit(main())
