"""The stack promise: a search keeps loops, jumps and the depth of the stack.

With ``G`` for the permitted growth of a frame, an object file keeps the promise of a former one if

- **no recursion is new**: a function that comes back to itself through pushing calls did so before,
  and it does not call itself in more places;
- **jumps stay jumps**: a function does not call what it left by a jump, as sibling calls and those
  with ``musttail`` do;
- **frames stay small**: the largest frame grows by at most ``G``, and no frame becomes dynamic;
- **paths stay short**: the deepest stack below a function, and at its calls of unknown code, is at
  most what it was, with ``G`` more for each frame of that path. So a function may have the frame
  of another one that is inlined, where both were on the deepest path;
- **cycles stay small**: the same for the frames of functions that call each other in a cycle.

The code of functions that users exclude stays the same. Frames are those of
``-fstack-size-section``. Calls and jumps are those of the disassembled code. Code that LLVM
outlines is part of the functions that enter it: its own names are numbers, which mean other code in
another object file.
"""

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.evaluator import Evaluator
from compiler_gym.tuning.size.image import Instruction, read_image
from compiler_gym.tuning.size.outlined import OUTLINED
from compiler_gym.tuning.size.safety import MAX_STACK_GROWTH
from compiler_gym.util.started_programs import run_started

STACK_OPTIONS = ("-fstack-size-section",)
"""Options of clang that add the sizes of frames to an object file. The code is the same."""

_SECONDS = 3600
_OUTSIDE = "*"
_RETURN_ADDRESS = {"x86_64": 8, "i386": 4}
_PREFIXES = ("notrack", "bnd", "data16", "rex64", "rep", "repz")
_ARM_CONDITION = re.compile("(?:eq|ne|hs|cs|lo|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)$")

Edges = Mapping[str, Counter[str]]
"""Counts of calls or jumps of functions by caller and callee."""


@dataclass(frozen=True)
class Stack:
    """The frames and the call graph of an object file.

    Attributes:
        frames: Bytes of the frame of each function; those with dynamic frames are missing.
        calls: Calls that push a return address. ``*`` stands for calls through pointers.
        jumps: Jumps to other functions. ``*`` also stands for jumps through tables.
        return_address: The bytes that a call pushes.
        kept: The instructions of functions that are excluded.
    """

    frames: Mapping[str, int]
    calls: Edges
    jumps: Edges
    return_address: int
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def groups(self) -> list[frozenset[str]]:
        """The functions, with those that reach each other in one group, callees first."""
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        graph.add_nodes_from(self.calls)
        for edges in (self.calls, self.jumps):
            graph.add_edges_from(
                (name, other) for name in edges for other in edges[name] if other in self.calls
            )
        condensed = networkx.condensation(graph)
        order = reversed([*networkx.topological_sort(condensed)])
        return [frozenset(condensed.nodes[each]["members"]) for each in order]

    @cached_property
    def recursive(self) -> dict[str, frozenset[str]]:
        """The cycles with pushing calls by their functions."""
        cycles = {
            name: group
            for group in self.groups
            for name in group
            if not group.isdisjoint(self.calls[name])
        }
        return {name: group for group in cycles.values() for name in group}

    def size(self, names: frozenset[str], growth: int = 0) -> int:
        """Returns the bytes of the frames of functions, each of which may grow."""
        return sum(self.frames.get(name, 0) + growth for name in names)

    def depths(self, growth: int = 0) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the deepest stack below each function, and that at calls of unknown code.

        Functions without such calls are missing in the latter. A cycle of calls counts once.

        Args:
            growth: Bytes that are added to each frame.
        """
        deepest: dict[str, int] = {}
        outside: dict[str, int] = {}
        for group in self.groups:
            is_cycle = any(name in self.recursive for name in group)
            below, unknown = [0], []
            for name in group:
                own = self.size(group if is_cycle else frozenset([name]), growth)
                below.append(own)
                for edges, size in (
                    (self.calls, own + self.return_address),
                    (self.jumps, own if is_cycle else 0),
                ):
                    for other in edges[name]:
                        below.append(size + deepest.get(other, 0))
                        if other not in self.calls:
                            unknown.append(size)
                        elif other in outside:
                            unknown.append(size + outside[other])
            deepest |= dict.fromkeys(group, max(below))
            outside |= dict.fromkeys(group, max(unknown)) if unknown else {}
        return deepest, outside

    def leaves(self, name: str) -> set[str]:
        """Returns the functions that a function leaves for, directly or through others."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = {*self.jumps.get(waiting.pop(), ())} - found
            found |= new
            waiting += new
        return found


@dataclass(frozen=True)
class Broken:
    """A broken promise.

    Attributes:
        functions: The functions whose decisions are at fault, as far as it is known.
        why: A sentence for users, without the full stop.
    """

    functions: frozenset[str]
    why: str


class StackPromise:
    """Compares the stack of what clang makes with changes with that without one.

    Args:
        evaluator: Runs clang.
        growth: The bytes by which each frame may grow; None if only recursion and jumps matter.
    """

    def __init__(self, evaluator: Evaluator, growth: int | None = MAX_STACK_GROWTH):
        self._evaluator = evaluator
        self._growth = growth

    @cached_property
    def _kept(self) -> list[str]:
        evaluator = self._evaluator
        has_facts = evaluator.unit is not None and evaluator.compilation.plugin is not None
        functions = evaluator.facts("list-functions") if has_facts else []
        return [each["name"] for each in functions if each["kept"]]

    @cached_property
    def _before(self) -> Stack | None:
        return self._stack(NO_CHANGE)

    def broken_by(self, change: Change) -> list[Broken]:
        """Returns the promises that a change breaks. Takes a run of clang."""
        if change == NO_CHANGE:
            return []
        before = self._before
        after = self._stack(change) if before else None
        return broken_promises(before, after, self._growth) if before and after else []

    def _stack(self, change: Change) -> Stack | None:
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            path = Path(folder) / "stack.o"
            command = [*self._evaluator.command(change, path), *STACK_OPTIONS]
            run_started(command, timeout=_SECONDS)
            return read_stack(path, self._kept)


def broken_promises(
    before: Stack, after: Stack, growth: int | None = MAX_STACK_GROWTH
) -> list[Broken]:
    """Compares the stack of an object file with that of a former one.

    Args:
        before: The stack of the object file that clang makes by itself.
        after: The stack of another one of the same source.
        growth: The bytes by which each frame may grow; None if only recursion and jumps matter.
    """
    broken = [*_changed(before, after), *_new_recursion(before, after), *_lost_jumps(before, after)]
    if growth is not None:
        broken += _larger_frames(before, after, growth)
        broken += _longer_paths(before, after, growth)
    return broken


def _changed(before: Stack, after: Stack) -> Iterator[Broken]:
    for name, instructions in before.kept.items():
        if after.kept.get(name) != instructions:
            yield Broken(frozenset([name]), f"the code of {name} changes, which is excluded")


def _new_recursion(before: Stack, after: Stack) -> Iterator[Broken]:
    for name, cycle in after.recursive.items():
        calls, former = after.calls[name], before.calls.get(name, Counter())
        if name in before.calls and cycle.isdisjoint(before.recursive):
            yield Broken(cycle, f"{name} becomes recursive")
        elif name in before.calls and calls[name] > former[name]:
            yield Broken(frozenset([name]), f"{name} calls itself where it had a loop")


def _lost_jumps(before: Stack, after: Stack) -> Iterator[Broken]:
    for name, calls in after.calls.items():
        former, jumps = before.calls.get(name, Counter()), after.jumps[name]
        for other, count in before.jumps.get(name, Counter()).items():
            is_fewer = jumps[other] < count and calls[other] > former[other]
            is_gone = not jumps[other] and calls[other] and other != _OUTSIDE
            if is_fewer or is_gone:
                yield Broken(frozenset([name]), f"{name} calls {other}, to which it jumped")
        for other in before.leaves(name) - after.leaves(name) - {_OUTSIDE}:
            if calls[other] > former[other] and other not in before.jumps[name]:
                yield Broken(frozenset([name]), f"{name} calls {other}, to which it jumped")


def _larger_frames(before: Stack, after: Stack, growth: int) -> Iterator[Broken]:
    largest = max(before.frames.values(), default=0) + growth
    for name, size in after.frames.items():
        if size > largest:
            yield Broken(frozenset([name]), f"the frame of {name} has {size} bytes")
    for name in after.calls:
        if name in before.frames and name not in after.frames:
            yield Broken(frozenset([name]), f"the frame of {name} becomes dynamic")
    for cycle in {*after.recursive.values()}:
        names = frozenset(it for name in cycle for it in before.recursive.get(name, [name]))
        if after.size(cycle) > before.size(names, growth):
            size = after.size(cycle)
            yield Broken(cycle, f"each call of {min(cycle)} by itself takes {size} bytes of stack")


def _longer_paths(before: Stack, after: Stack, growth: int) -> Iterator[Broken]:
    below, outside = before.depths(growth)
    for permitted, found, what in zip(
        (below, outside), after.depths(), ("below", "at calls from"), strict=True
    ):
        for name, size in found.items():
            limit = permitted.get(name, below.get(name, 0))
            if name in before.calls and size > limit:
                yield Broken(
                    _larger_below(name, before, after),
                    f"the stack {what} {name} has {size} bytes, {limit} are permitted",
                )


def _larger_below(name: str, before: Stack, after: Stack) -> frozenset[str]:
    """Returns the functions with larger frames, or without former ones, that a function reaches."""
    reached, waiting = {name}, [name]
    while waiting:
        each = waiting.pop()
        new = {*after.calls.get(each, ()), *after.jumps.get(each, ())} - reached
        reached |= new
        waiting += new
    return frozenset(
        each
        for each in reached & {*after.calls}
        if after.frames.get(each, 0) > before.frames.get(each, 0) or each not in before.calls
    )


def read_stack(path: Path, kept: Iterable[str] = ()) -> Stack | None:
    """Reads an object file that was made with :data:`STACK_OPTIONS`.

    Args:
        path: The object file.
        kept: The functions that are excluded.

    Returns:
        None for architectures whose calls are not known.

    Raises:
        EnvironmentNotSupported: If a tool of LLVM is not installed.
        ValueError: If the file cannot be disassembled.
    """
    image = read_image(path)
    read = _READERS.get(image.arch)
    if read is None:
        return None
    calls: dict[str, Counter[str]] = defaultdict(Counter)
    jumps: dict[str, Counter[str]] = defaultdict(Counter)
    for name in image.functions:
        calls[name], jumps[name] = _edges(name, image.assembly.get(name, []), read, image.functions)
    code = {name: [each.text for each in image.assembly.get(name, ())] for name in kept}
    found = Stack(image.frames, calls, jumps, _RETURN_ADDRESS.get(image.arch, 0), code)
    return without_outlined(found)


def without_outlined(stack: Stack) -> Stack:
    """Returns a stack where outlined code is part of the functions that enter it."""
    entered = {name: _with_outlined(stack, name) for name in stack.calls if not _is_outlined(name)}
    frames = {
        name: size + entered[name].frame if name in entered else size
        for name, size in stack.frames.items()
        if not _is_outlined(name)
    }
    calls, jumps = (
        {name: getattr(each, kind) for name, each in entered.items()} for kind in ("calls", "jumps")
    )
    return replace(stack, frames=frames, calls=calls, jumps=jumps)


def _is_outlined(name: str) -> bool:
    return name.startswith(OUTLINED)


@dataclass
class _Entered:
    """The edges of a function with those of outlined code, and the bytes that such code pushes."""

    calls: Counter[str] = field(default_factory=Counter)
    jumps: Counter[str] = field(default_factory=Counter)
    frame: int = 0


def _with_outlined(stack: Stack, name: str) -> _Entered:
    found = _Entered()
    for edges, is_call in ((stack.calls, True), (stack.jumps, False)):
        for other, count in edges[name].items():
            if other not in stack.calls or not _is_outlined(other):
                (found.calls if is_call else found.jumps)[other] += count
                continue
            inner = _with_outlined(stack, other)
            # What called code jumps to comes back to its caller.
            for kind, into in ((inner.calls, True), (inner.jumps, is_call)):
                for each, times in kind.items():
                    (found.calls if into else found.jumps)[each] += times * count
            pushed = stack.return_address if is_call else 0
            found.frame = max(found.frame, inner.frame + pushed + stack.frames.get(other, 0))
    return found


def _edges(
    caller: str, assembly: Sequence[Instruction], read: "Reader", functions: Mapping[str, int]
) -> tuple[Counter[str], Counter[str]]:
    calls: Counter[str] = Counter()
    jumps: Counter[str] = Counter()
    labels = {each.label for each in assembly}
    for instruction in assembly:
        words = [word for word in instruction.text.split() if word not in _PREFIXES]
        found = read(words[0], words[1:]) if words else None
        if found is None:
            continue
        is_call, target = found
        is_inside = target in labels or target.startswith((".L", f"{caller}+"))
        if not is_inside and (is_call or target != caller):
            # Local functions in sections of their own are named by their section.
            name = target.removeprefix(".text.")
            (calls if is_call else jumps)[name if name in functions else target] += 1
    return calls, jumps


Reader = Callable[[str, Sequence[str]], tuple[bool, str] | None]
"""Takes the words of an instruction. Returns whether it is a call rather than a jump, and of what;
None for other instructions."""


def _read_x86(name: str, operands: Sequence[str]) -> tuple[bool, str] | None:
    if not operands or not name.startswith(("call", "j")):
        return None
    return name.startswith("call"), _OUTSIDE if operands[0].startswith("*") else operands[0]


def _read_aarch64(name: str, operands: Sequence[str]) -> tuple[bool, str] | None:
    if name in ("blr", "br") or name.startswith(("blra", "bra")):
        return name.startswith("bl"), _OUTSIDE
    return (name == "bl", operands[0]) if name in ("bl", "b") else None


def _read_arm(name: str, operands: Sequence[str]) -> tuple[bool, str] | None:
    base = name.removesuffix(".w")
    base = _ARM_CONDITION.sub("", base)
    if base not in ("b", "bl", "blx", "bx") or operands[0] == "lr":
        return None
    is_register = re.fullmatch(r"r\d+|ip", operands[0])
    return base.startswith("bl"), _OUTSIDE if is_register else operands[0]


def _read_riscv(name: str, operands: Sequence[str]) -> tuple[bool, str] | None:
    # Outlined code has its return address in t0, where LLVM has none of other code.
    if name == "auipc" and operands[0] in ("ra,", "t0,", "t1,") and "#" in operands:
        return operands[0] != "t1,", operands[-1]
    if name in ("jal", "j"):
        return name == "jal", operands[-1]
    if name in ("jalr", "jr") and operands[0] not in ("ra", "t0", "t0,", "t1"):
        return name == "jalr", _OUTSIDE
    return None


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("x86_64", "i386"), _read_x86),
    **dict.fromkeys(("aarch64", "aarch64_be"), _read_aarch64),
    **dict.fromkeys(("arm", "armeb", "thumb", "thumbeb"), _read_arm),
    **dict.fromkeys(("riscv64", "riscv32"), _read_riscv),
}
