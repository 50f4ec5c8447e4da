"""``compiler-gym lock``: verifies, updates, explains and compares lock files."""

import shlex
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.lock_file import Entry, Key, LockFile
from compiler_gym.cli.project_build import LogLine, read_log, run_build
from compiler_gym.cli.wrapper_settings import FROZEN, LOCK, LOG
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.util.shell_format import percent_saved, plural
from compiler_gym.util.truncate import filled

lock_app = typer.Typer(
    name="lock",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Verify, update, explain or compare lock files.",
)

_CallArgument = Annotated[
    list[str], typer.Argument(help="The build, after --.", show_default=False)
]
_FileArgument = Annotated[Path, typer.Argument(help="The lock file.", show_default=False)]


@lock_app.command()
def verify(file: _FileArgument, command: _CallArgument) -> None:
    """Build with a lock file, and compare each object file with the digest in it.

    The build must compile everything again. A unit that is missing, or whose entry does not match,
    ends the build. The exit code is 0 if all object files are the same.

    \b
    Examples:
      compiler-gym lock verify size.lock -- 'make clean && make -j8'
    """  # noqa: D301
    lock = _existing(file)
    lock.read()  # Each compiler would report the same damage.
    lines = [each for each in _build(lock, command, {FROZEN: "1"}) if each.kind == "lock"]
    if not lines:
        raise ValueError(
            "The build compiled no unit of the lock file. It has to compile everything again"
        )
    wrong = [each for each in lines if each.note]
    for each in wrong:
        print_line(f"{each.output}: {each.note}")
    units = plural(len(lines), "object file")
    print_line(f"{units}, {len(lines) - len(wrong)} with the same bytes as when they were locked.")
    if wrong:
        raise typer.Exit(1)


@lock_app.command()
def update(file: _FileArgument, command: _CallArgument) -> None:
    """Build, search units whose entries are missing or do not match, and write the lock file.

    Entries without a source are removed.

    \b
    Examples:
      compiler-gym lock update size.lock -- 'make clean && make -j8'
    """  # noqa: D301
    lock = LockFile(file.absolute())
    before = lock.read()
    _build(lock, command, {})
    entries = lock.read()
    kept = {key: each for key, each in entries.items() if (lock.folder / each.source).exists()}
    if kept != entries:
        lock.write(kept.values())
    _print_difference(before, kept)


@lock_app.command()
def explain(
    file: _FileArgument,
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Sources whose decisions to list; by default none."),
    ] = None,
) -> None:
    """Print the units of a lock file, and the decisions for some of them.

    \b
    Examples:
      compiler-gym lock explain size.lock
      compiler-gym lock explain size.lock src/lvm.c
    """  # noqa: D301
    entries = [*_existing(file).read().values()]
    known = [each.source for each in entries]
    for source in sources or []:
        if source not in known:
            raise unknown_name("unit", source, known)
    if sources:
        for entry in (each for each in entries if each.source in sources):
            _print_entry(entry)
        return
    print_table(
        {
            "unit": each.source,
            "before": each.before,
            "after": each.after,
            "saved": percent_saved(each.before, each.after),
            "decisions": sum(map(len, each.decisions.values())),
            "left out": len(each.left_out),
        }
        for each in entries
    )
    before, after = _total(entries)
    print_line(f"\n{plural(len(entries), 'unit')}: {after}, where clang makes {before}.")


@lock_app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A lock file.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
) -> None:
    """Compare two lock files: units that are new, gone or different, and the sum of their sizes.

    \b
    Examples:
      git show HEAD:size.lock > old.lock; compiler-gym lock diff old.lock size.lock
    """  # noqa: D301
    _print_difference(_existing(old).read(), _existing(new).read())


def _existing(path: Path) -> LockFile:
    if path.is_dir():
        raise IsADirectoryError(f"expected a lock file, got the folder {path}")
    if not path.is_file():
        raise FileNotFoundError(f"There is no lock file {path}")
    return LockFile(path.absolute())


def _build(lock: LockFile, words: list[str], variables: dict[str, str]) -> list[LogLine]:
    """Runs a build with a lock file. Returns the log of the compilers.

    Raises:
        ChildProcessError: If it fails.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        log = Path(folder) / "log"
        code = run_build(words, {LOCK: str(lock.path), LOG: str(log), **variables})
        if code:
            raise ChildProcessError(f"The build ended with exit code {code}: {shlex.join(words)}")
        return read_log(log)


def _print_entry(entry: Entry) -> None:
    print_line(f"{entry.source} {entry.options}".rstrip())
    saved = percent_saved(entry.before, entry.after)
    print_line(
        f"  {entry.after} of {entry.before} ({entry.objective}, {saved} saved), "
        f"{plural(entry.evaluations, 'evaluation')}"
    )
    print_line(f"  {entry.compiler}, compiler-gym {entry.version}")
    for kind, texts in entry.decisions.items():
        for text in texts:
            # A function may have many adjustments.
            line = f"  {kind}: {text.replace('+', ' + ')}"
            print_line(filled(line, indent="    "))
    for text in entry.left_out:
        print_line(f"  left out, as a check failed with it: {text}")


def _print_difference(old: dict[Key, Entry], new: dict[Key, Entry]) -> None:
    rows = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        what = "new" if before is None else "gone" if after is None else _what(before, after)
        rows.append(
            {
                "unit": key[0],
                "old": before.after if before else "",
                "new": after.after if after else "",
                "what": what,
            }
        )
    if rows:
        print_table(rows)
        print_line()
    (_, old_total), (_, new_total) = _total(old.values()), _total(new.values())
    same = len({*old} & {*new}) - sum(row["what"] not in ("new", "gone") for row in rows)
    print_line(f"{plural(same, 'unit')} as before; all together {new_total}, before {old_total}.")


def _what(before: Entry, after: Entry) -> str:
    return before.difference(after).removeprefix("got one ") or "other decisions"


def _total(entries: Iterable[Entry]) -> tuple[int, int]:
    listed = list(entries)
    return sum(each.before for each in listed), sum(each.after for each in listed)
