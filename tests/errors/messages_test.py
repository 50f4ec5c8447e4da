"""The form of all error messages of the package. What they are about is for the tests of each."""

import ast
from collections.abc import Iterable, Iterator

from compiler_gym.util.runfiles_path import runfiles_path

# Their message is that of a method, or of a command line, whose sentences end with a period.
ELSEWHERE = ("_", "Abort", "BadParameter", "Exit", "UsageError", "several_names", "unknown_name")
# What has a kind before its message.
WITH_KIND = ("ExplorerError",)
# Said by their class, or to nobody but the code around.
WITHOUT_MESSAGE = {"KeyboardInterrupt", "NotImplementedError", "StoppedError"}


def raised(source: str) -> Iterator[tuple[int, str, list[ast.expr]]]:
    """Yields the line, the name and the arguments of what a module raises anew."""
    for node in ast.walk(ast.parse(source)):
        error = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(error, ast.Call):
            name = ast.unparse(error.func).rpartition(".")[2]
            if not name.startswith(ELSEWHERE):
                yield error.lineno, name, error.args
        if isinstance(error, ast.Name) and error.id[0].isupper():
            yield error.lineno, error.id, []


def text_of(node: ast.expr) -> str | None:
    """Returns a text with {} for each value in it, or None if it is made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(each) or "{}" for each in node.values)
    return None


def faults(found: Iterable[tuple[int, str, list[ast.expr]]]) -> Iterator[tuple[int, str]]:
    for line, name, arguments in found:
        if not arguments and name not in WITHOUT_MESSAGE:
            yield line, f"{name} without a message"
        message = text_of(arguments[name in WITH_KIND]) if arguments else None
        if message is None:
            continue
        if message != message.strip() or "  " in message or "!" in message or not message:
            yield line, f"stray characters: {message}"
        if message.endswith(".") and not message.endswith("...") and message.count(". ") == 0:
            yield line, f"a period at the end: {message}"


def test_messages_have_one_form():
    paths = sorted(runfiles_path("compiler_gym").rglob("*.py"))
    sources = [path for path in paths if "_pb2" not in path.name]
    found = {str(path): [*raised(path.read_text())] for path in sources}
    assert sum(map(len, found.values())) > 600
    wrong = {path: [*faults(each)] for path, each in found.items()}
    assert {path: each for path, each in wrong.items() if each} == {}


def test_faults_are_found():
    lines = ['raise ValueError("No!")', "raise OSError", 'raise KeyError("None.")', 'f(" a  b")']
    assert [line for line, _ in faults(raised("\n".join(lines)))] == [1, 2, 3]
