"""Source lines behind IR and machine code, and remarks at them.

Sessions hold programs without debug information. So the program is compiled again with debug lines,
the tools of LLVM apply the same passes to it, and whatever then differs but for debug lines is left
out: the lines that are shown are exact.
"""

import re
import shlex
import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachetools import LRUCache

from compiler_gym.explorer import messages
from compiler_gym.explorer.machine_code import SOURCE_NAME, disassembled
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.sources import LANGUAGES, compile_source
from compiler_gym.explorer.workbench import Workbench
from compiler_gym.util import llvm_tools

_MAX_KEPT = 16
_MAX_REMARKS = 2000

_FUNCTION = re.compile(r'^define [^@]*@("[^"]*"|[^(]*)\(')
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$")
_NUMBERED = re.compile(r"([!#])\d+\b")
_DEBUG = re.compile(r",? !dbg !(\d+)")
# Removing debug lines can remove the identity of a loop, too.
_LOOP = re.compile(r", !llvm\.loop !\d+")
_FIELD = re.compile(r"\b(line|scope|file|inlinedAt): !?(\d+)")
_REMARK = re.compile(rf"^remark: (?:.*{re.escape(SOURCE_NAME)}:(\d+):\d+|[^ ]*): (.*)$", re.M)
_CALL_SITE = re.compile(r" at callsite [^;]*;( @ [^;]*;)*")


@dataclass(frozen=True)
class _Source:
    """The source of a program.

    Attributes:
        text: All files one after the other, as the page shows them.
        files: The language of each file, and its text, which says where it is in `text`.
        flags: The flags of the compiler.
    """

    text: str
    files: tuple[tuple[str, str], ...]
    flags: str


class SourceLines:
    """Finds source lines. Methods may be called from any thread.

    Args:
        bench: The programs.
    """

    def __init__(self, bench: Workbench):
        self._bench = bench
        self._tools = bench.tools
        self._lock = threading.Lock()
        self._kept: LRUCache[tuple[str, tuple[str, ...]], bytes] = LRUCache(_MAX_KEPT)

    def lines(self, state: messages.State) -> messages.Lines:
        """Returns the line of the source behind each line of the IR and of the machine code.

        Raises:
            ExplorerError: If there is no such state.
            EnvironmentNotSupported: If the LLVM tools are not installed.
        """
        found = messages.Lines(source=None, ir={}, code={}, inexact=[])
        source = self._source(state.program)
        if source is None:
            found.problem = "There is no source: open C or C++ to see the lines behind the code."
            return found
        found.source = source.text
        bitcode, ir = self._bench.observe(state.program, state.actions, ["Bitcode", "Ir"])
        try:
            debug = self._debug_bitcode(source, state.program, state.actions)
            with self._tools.folder() as folder:
                text, _ = self._tools.run([llvm_tools.llvm_dis_path(), "-"], folder, debug)
                plain = disassembled(bitcode.tobytes(), self._tools, folder)
                coded = disassembled(debug, self._tools, folder)
        except ExplorerError as error:
            found.problem = str(error)
            return found
        before = functions_of(ir)
        for name, function in ir_lines(text.decode(errors="replace")).items():
            if function.masked == before.get(name):
                found.ir[name] = function.numbers
        texts = {each.name: each.texts for each in plain}
        for each in coded:
            if each.texts == texts.get(each.name):
                found.code[each.name] = each.lines
        found.inexact = sorted(
            (before.keys() - found.ir.keys()) | (texts.keys() - found.code.keys())
        )
        return found

    def remarks(self, state: messages.State) -> messages.Remarks:
        """Returns the remarks of the last pass, at their lines if the source is known.

        Raises:
            ExplorerError: If there is no such state.
        """
        if not state.actions:
            return messages.Remarks(rows=[], more=0)
        (table,) = self._bench.observe(state.program, state.actions, ["Remarks"])
        places = self._places_of_remarks(state)
        rows = []
        for i, message in enumerate(table["message"][:_MAX_REMARKS]):
            places_left = places.get(_normal(message))
            rows.append(
                messages.Remark(
                    kind=table["kind"][i],
                    name=f"{table['pass'][i]}: {table['name'][i]}",
                    function=table["function"][i],
                    message=message,
                    line=places_left.popleft() if places_left else None,
                )
            )
        return messages.Remarks(rows=rows, more=len(table["message"]) - len(rows))

    def _places_of_remarks(self, state: messages.State) -> dict[str, deque[int | None]]:
        """Returns the lines of the last pass's remarks, by message."""
        places: dict[str, deque[int | None]] = defaultdict(deque)
        source = self._source(state.program)
        if source is None:
            return places
        kinds = ["-pass-remarks=.*", "-pass-remarks-missed=.*", "-pass-remarks-analysis=.*"]
        try:
            debug = self._debug_bitcode(source, state.program, state.actions[:-1])
            with self._tools.folder() as folder:
                command = self._opt(state.actions[-1:])
                _, text = self._tools.run([*command, *kinds], folder, debug)
        except ExplorerError:  # They are shown without lines.
            return places
        for line, message in _REMARK.findall(text.decode(errors="replace")):
            places[_normal(message)].append(int(line) if line else None)
        return places

    def _source(self, program: str) -> _Source | None:
        owner = self._bench.program(program)
        source = owner.message.source
        if source is not None:
            if source.language == "ir":
                return None
            return _joined([(source.language, "", source.text)], source.flags)
        files = [
            (language, file.filename, file.contents.decode(errors="replace"))
            for file in owner.sources
            if (language := LANGUAGES.get(Path(file.filename).suffix)) and language != "ir"
        ]
        return _joined(files, "-std=c11 -w" if owner.is_built_in else "-w") if files else None

    def _debug_bitcode(self, source: _Source, program: str, actions: Sequence[str]) -> bytes:
        """Returns a state with debug lines."""
        key = (program, tuple(actions))
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        with self._tools.folder() as folder:
            made = self._compiled(source, folder)
            if actions:
                made, _ = self._tools.run([*self._opt(actions), "-o", "-"], folder, made)
        with self._lock:
            self._kept[key] = made
        return made

    def _compiled(self, source: _Source, folder: Path) -> bytes:
        """Returns a program with debug lines, before any pass."""
        parts = []
        flags = [*shlex.split(source.flags), "-gline-tables-only"]
        for language, text in source.files:
            try:
                made = compile_source(text.encode(), language, flags, self._tools, folder)
            except ExplorerError as error:
                if error.problem.kind != "program":
                    raise
                raise ExplorerError(
                    "program", "The source does not compile without the files that it includes"
                ) from error
            parts.append(made)
        if len(parts) == 1:
            return parts[0]
        paths = [folder / f"{number}.bc" for number in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            path.write_bytes(part)
        linked, _ = self._tools.run([llvm_tools.llvm_link_path(), *paths, "-o", "-"], folder)
        return linked

    def _opt(self, actions: Sequence[str]) -> list[str | Path]:
        """Returns the command that applies actions to standard input."""
        words = shlex.split(self._bench.commandline(actions))
        own = [word for word in words[1:] if word not in ("input.bc", "-o", "output.bc")]
        plugin = llvm_tools.own_passes_path()
        plugins = [f"-load-pass-plugin={plugin}"] if plugin else []
        return [llvm_tools.opt_path(), *plugins, *own, "-"]


def _joined(files: Sequence[tuple[str, str, str]], flags: str) -> _Source:
    """Returns the source of files: the language, the name and the text of each."""
    lines: list[str] = []
    placed = []
    for language, name, text in files:
        if len(files) > 1:
            lines.append(f"// {name}")
        placed.append((language, f'#line {len(lines) + 1} "{SOURCE_NAME}"\n{text}'))
        lines += text.split("\n") if len(files) == 1 else text.rstrip("\n").split("\n")
    return _Source("\n".join(lines), tuple(placed), flags)


@dataclass
class LinedFunction:
    """A function of IR with debug lines.

    Attributes:
        masked: Its lines without debug lines, and without numbers of metadata and attributes.
        numbers: The source line of each; 0 where it has none.
    """

    masked: list[str]
    numbers: list[int]


def functions_of(ir: str) -> dict[str, list[str]]:
    """Returns the masked lines of each function of textual IR."""
    return {
        name: [_masked(line) for line in lines] for name, lines in _raw_functions_of(ir).items()
    }


def ir_lines(ir: str) -> dict[str, LinedFunction]:
    """Returns the functions of textual IR that has debug lines."""
    nodes = {
        int(found[1]): (found[2], dict(_FIELD.findall(found[3])))
        for found in map(_NODE.match, ir.splitlines())
        if found
    }
    files = {
        int(found[1])
        for found in map(_NODE.match, ir.splitlines())
        if found and found[2] == "DIFile" and SOURCE_NAME in found[3]
    }

    def line_of(text: str) -> int:
        found = _DEBUG.search(text)
        node = found[1] if found else None
        while node is not None:  # Inlined code of a header has the line of the call.
            kind, fields = nodes.get(int(node), ("", {}))
            place = nodes.get(int(fields.get("scope", -1)), ("", {}))[1]
            file = (place if kind == "DILocation" else fields).get("file", -1)
            if int(file) in files:
                return int(fields.get("line", 0))
            node = fields.get("inlinedAt")
        return 0

    return {
        name: LinedFunction([_masked(line) for line in lines], [line_of(line) for line in lines])
        for name, lines in _raw_functions_of(ir).items()
    }


def _raw_functions_of(ir: str) -> dict[str, list[str]]:
    functions: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in ir.splitlines():
        if found := _FUNCTION.match(line):
            lines = functions[found[1]] = []
        if lines is not None:
            lines.append(line)
            if line == "}":
                lines = None
    return functions


def _masked(line: str) -> str:
    return _NUMBERED.sub(r"\1", _LOOP.sub("", _DEBUG.sub("", line))).rstrip()


def _normal(message: str) -> str:
    """Returns a remark without the call sites that it has only with debug lines."""
    return _CALL_SITE.sub("", message).strip()
