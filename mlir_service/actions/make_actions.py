"""Makes the actions of the MLIR environment: a list of them, and the transforms that some call.

Usage: make_actions.py PASSES.txt PATTERNS.txt LLVM.txt ACTIONS.txt LIBRARY.mlir

A line of the list has the name of an action, the pass that it is in the words of ``mlir-opt
-pass-pipeline='builtin.module(...)'``, and what it does, separated by tabs. To add an action, add
a line to ``passes.txt`` or ``patterns.txt`` beside this file. The second line of ``LLVM.txt`` is
the version of LLVM.

The transform ``structured.promote`` is no action: its buffers are too small for windows and for
partial tiles.

The library has a named sequence of the Transform dialect for each action that is not a pass by
itself. A transform that does not apply to an operation leaves it alone.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ANY = "!transform.any_op"
PARAM = "!transform.param<i64>"

TILED_DIMENSIONS = 7
TILE_SIZES = (1, 4, 8, 16, 32, 64)
INTERCHANGED_DIMENSIONS = 7
MAX_RANK = 7

MAX_ELEMENTS = 4096
"""An operation becomes vectors if its loops make no more rounds than this together."""

SUCCESSORS = {
    "vector.lower_multi_reduction": (
        "vector.reorder_multi_reduction_dims",
        "vector.multi_reduction_flattening",
        "vector.multi_reduction_unrolling",
    )
}
"""What stands in the place of patterns from MLIR 23 on, with the same parameters."""


class Action(NamedTuple):
    """One action, and the sequences of the Transform dialect that it needs."""

    name: str
    pipeline: str
    description: str
    sequences: str = ""


def identifier(name: str) -> str:
    """The name of the sequence of an action: ``tile<0,8>`` is ``tile_0_8``."""
    return name.replace("<", "_").replace(",", "_").replace("-", "_").rstrip(">")


def interpreted(name: str, description: str, sequences: str) -> Action:
    """The action of a sequence that has its name."""
    pipeline = f"transform-interpreter{{entry-point={identifier(name)}}}"
    return Action(name, pipeline, description, sequences)


def sequence(name: str, body: str) -> str:
    """A named sequence."""
    return f"""
  transform.named_sequence @{identifier(name)}(%root: {ANY} {{transform.readonly}}) {{
{body}
    transform.yield
  }}
"""


def on_each(target: str, body: str) -> str:
    """A transform of each operation, where failures leave the operation as it is."""
    return f"""    %ops = transform.structured.match {target} in %root : ({ANY}) -> {ANY}
    transform.foreach %ops : {ANY} {{
    ^bb0(%each: {ANY}):
      transform.sequence %each : {ANY} failures(suppress) {{
      ^bb1(%op: {ANY}):
{body}
      }}
    }}"""


def on_each_linalg(name: str, body: str, description: str) -> Action:
    """A transform of each linalg operation."""
    return interpreted(name, description, sequence(name, on_each("interface{LinalgOp}", body)))


def on_function(name: str, body: str, description: str) -> Action:
    """A transform of each function."""
    return interpreted(
        name, description, sequence(name, on_each('ops{["func.func"]}', f"        {body}"))
    )


def tile(dimension: int, size: int) -> Action:
    """A loop around tiles."""
    sizes = ", ".join(["0"] * dimension + [str(size)])
    types = f"({ANY}) -> ({ANY}, {ANY})"
    body = f"""        %tiled, %loop = transform.structured.tile_using_for %op
          tile_sizes [{sizes}] : {types}"""
    what = f"Tile dimension {dimension} of linalg operations by {size}"
    return on_each_linalg(f"tile<{dimension},{size}>", body, what)


def matcher(name: str, rank: int, bounds: tuple[int, ...] = ()) -> str:
    """A sequence that matches linalg operations of a rank, with at most so many rounds each."""
    lines = [
        f"      %rank = transform.match.structured.rank %op : ({ANY}) -> {PARAM}",
        f"      %wanted = transform.param.constant {rank} : i64 -> {PARAM}",
        f"      transform.match.param.cmpi eq %rank, %wanted : {PARAM}",
    ]
    for i, bound in enumerate(bounds):
        lines += [
            f"      %size{i} = transform.match.structured.dim %op[{i}] : ({ANY}) -> {PARAM}",
            f"      %bound{i} = transform.param.constant {bound} : i64 -> {PARAM}",
            f"      transform.match.param.cmpi le %size{i}, %bound{i} : {PARAM}",
        ]
    text = "\n".join(lines)
    return f"""
  transform.named_sequence @{name}(%each: {ANY} {{transform.readonly}}) -> {ANY} {{
    %same = transform.match.structured %each : ({ANY}) -> {ANY} {{
    ^bb0(%op: {ANY}):
{text}
      transform.match.structured.yield %op : {ANY}
    }}
    transform.yield %same : {ANY}
  }}
"""


def on_matching(name: str, body: str, matchers: dict[str, str], description: str) -> Action:
    """A transform of the linalg operations that one of some sequences matches."""
    rule = f"do_{identifier(name)}"
    rules = ",\n      ".join(f"@{each} -> @{rule}" for each in matchers)
    sequences = f"""{"".join(matchers.values())}
  transform.named_sequence @{rule}(%each: {ANY} {{transform.consumed}}) {{
    transform.sequence %each : {ANY} failures(suppress) {{
    ^bb0(%op: {ANY}):
{body}
    }}
    transform.yield
  }}

  transform.named_sequence @{identifier(name)}(%root: {ANY} {{transform.consumed}}) {{
    transform.foreach_match in %root
      {rules}
      : ({ANY}) -> {ANY}
    transform.yield
  }}
"""
    return interpreted(name, description, sequences)


def interchange(first: int, second: int) -> Action:
    """Exchanged loops, in a way for each rank."""
    name = f"interchange<{first},{second}>"
    base = f"interchange_{first}_{second}_of"
    body = f"""        transform.structured.interchange %op
          iterator_interchange = [{{}}] : ({ANY}) -> {ANY}"""
    parts = []
    rules = []
    for rank in range(second + 1, MAX_RANK + 1):
        order = list(range(rank))
        order[first], order[second] = second, first
        part = on_matching(
            f"{base}_{rank}",
            body.format(", ".join(map(str, order))),
            {f"has_{base}_{rank}": matcher(f"has_{base}_{rank}", rank)},
            "",
        ).sequences
        # Of each part, all but the sequence that applies it alone.
        parts.append(part[: part.rindex("\n  transform.named_sequence")])
        rules.append(f"@has_{base}_{rank} -> @do_{base}_{rank}")
    text = ",\n      ".join(rules)
    sequences = f"""{"".join(parts)}
  transform.named_sequence @{identifier(name)}(%root: {ANY} {{transform.consumed}}) {{
    transform.foreach_match in %root
      {text}
      : ({ANY}) -> {ANY}
    transform.yield
  }}
"""
    what = f"Swap dimensions {first} and {second} of generic linalg operations"
    return interpreted(name, what, sequences)


def boxes(rank: int) -> Iterator[tuple[int, ...]]:
    """Bounds of the dimensions, powers of two, with a product of ``MAX_ELEMENTS``.

    None is above 64, except of a few dimensions.
    """
    most = MAX_ELEMENTS.bit_length() - 1
    exponents = range((most if rank < 3 else most // 2) + 1)
    for box in itertools.product(exponents, repeat=rank):
        if sum(box) == most:
            yield tuple(2**each for each in box)


def vectorize() -> Action:
    """Vectorisation of what has at most ``MAX_ELEMENTS`` rounds.

    There are no products of parameters to compare, so there is a matcher for each way in which the
    sizes can have that product. Beyond four dimensions, all but three are of at most 1 or 3 rounds,
    as those of windows are.
    """
    found = {rank: list(boxes(rank)) for rank in (1, 2, 3)}
    found[4] = [(1, *box) for box in found[3]] + [(8, 8, 8, 8)]
    found[5] = [(1, 1, *box) for box in found[3]] + [(1, 8, 8, 8, 8), (4, 4, 4, 4, 4)]
    found[6] = [(4, 4, 4, 4, 4, 4)]
    found[7] = [(3, 3, 3, 3, 3, 3, 3)]
    matchers = {}
    for rank, bounds in found.items():
        for box in bounds:
            name = "fits_" + "_".join(map(str, box))
            matchers[name] = matcher(name, rank, box)
    body = f"      transform.structured.vectorize %op : {ANY}"
    what = f"Make vectors of linalg operations of up to {MAX_ELEMENTS} rounds"
    return on_matching("vectorize", body, matchers, what)


def pattern(name: str, patterns: list[str], description: str) -> Action:
    """Rewriting by some patterns, and the simplifications that go with it."""
    lines = "\n".join(f"          transform.apply_patterns.{each}" for each in patterns)
    body = f"transform.apply_patterns to %op {{\n{lines}\n        }} : {ANY}"
    return on_function(name, body, description)


def known_patterns(names: str, version: int) -> Iterator[str]:
    """Yields patterns, with their parameters, as a version of MLIR names them."""
    for each in names.split(", "):
        name, space, parameters = each.partition(" ")
        for successor in SUCCESSORS.get(name, (name,)) if version >= 23 else (name,):
            yield successor + space + parameters


def actions(passes: Path, patterns: Path, version: int) -> Iterator[Action]:
    """Yields all actions, in the order of their numbers."""
    for dimension in range(TILED_DIMENSIONS):
        for size in TILE_SIZES:
            yield tile(dimension, size)
    for pair in itertools.combinations(range(INTERCHANGED_DIMENSIONS), 2):
        yield interchange(*pair)
    types = f"({ANY}) -> {ANY}"
    yield on_each_linalg(
        "generalize",
        f"        transform.structured.generalize %op : {types}",
        "Make generic linalg operations of named ones",
    )
    yield vectorize()
    yield on_function(
        "vector-hoist",
        f"transform.structured.hoist_redundant_vector_transfers %op : {types}",
        "Keep vectors that loops write and read again in values",
    )
    for name, names, description in table(patterns):
        yield pattern(name, [*known_patterns(names, version)], description)
    for row in table(passes):
        yield Action(*row)


def table(path: Path) -> Iterator[list[str]]:
    """Yields the rows of a file."""
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            yield line.split(" | ")


def main() -> None:
    """Writes both files."""
    passes, patterns, llvm, listed, library = map(Path, sys.argv[1:])
    version = int(llvm.read_text().split()[1].partition(".")[0])
    everything = list(actions(passes, patterns, version))
    listed.write_text("".join("\t".join(action[:3]) + "\n" for action in everything))
    sequences = "".join(action.sequences for action in everything)
    library.write_text(
        "// Generated: the transforms of the actions of mlir-v0.\n"
        f"module attributes {{transform.with_named_sequence}} {{{sequences}}}\n"
    )


if __name__ == "__main__":
    main()
