"""Program graphs as arrays of integers, for graph neural networks."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler_gym.util.optional_packages import require

__all__ = ["NODE_WORDS", "graph_tensors", "node_word", "to_pyg"]

UNKNOWN = "[unknown]"
"""The word for all texts that have no word of their own, with the index 0."""

EXTERNAL = "[external]"
"""The word for node 0: all code outside of the program."""

# The opcodes of LLVM 22, in the order of its header Instruction.def.
_OPCODES = (
    "ret", "br", "switch", "indirectbr", "invoke", "resume", "unreachable", "cleanupret",
    "catchret", "catchswitch", "callbr", "fneg", "add", "fadd", "sub", "fsub", "mul", "fmul",
    "udiv", "sdiv", "fdiv", "urem", "srem", "frem", "shl", "lshr", "ashr", "and", "or", "xor",
    "alloca", "load", "store", "getelementptr", "fence", "cmpxchg", "atomicrmw", "trunc", "zext",
    "sext", "fptoui", "fptosi", "uitofp", "sitofp", "fptrunc", "fpext", "ptrtoint", "ptrtoaddr",
    "inttoptr", "bitcast", "addrspacecast", "cleanuppad", "catchpad", "icmp", "fcmp", "phi", "call",
    "select", "va_arg", "extractelement", "insertelement", "shufflevector", "extractvalue",
    "insertvalue", "landingpad", "freeze",
)  # fmt: skip

# Types of values. Integers of other widths are "iN", pointers of all address spaces "ptr".
_ELEMENTS = (
    "i1", "i8", "i16", "i32", "i64", "i128", "iN", "half", "bfloat", "float", "double", "x86_fp80",
    "fp128", "ppc_fp128", "ptr",
)  # fmt: skip
_VECTORS = tuple(f"<{name}>" for name in _ELEMENTS)
_OTHERS = ("array", "struct", "target", "token", "x86_amx")

NODE_WORDS: tuple[str, ...] = (UNKNOWN, EXTERNAL, *_OPCODES, *_ELEMENTS, *_VECTORS, *_OTHERS)
"""The vocabulary of nodes: what is unknown, code outside of the program, opcodes, and types.

The index of a word never changes. Later versions may add words to the end.
"""

_NUMBERS = {word: number for number, word in enumerate(NODE_WORDS)}
_INTEGER = re.compile(r"i\d+")
_ELEMENT = re.compile(r"<(?:vscale x )?\d+ x (.*)>")
# The beginnings of composed types as LLVM writes them. That of vectors is ambiguous.
_BEGINNINGS = {"[": "array", "{": "struct", "<{": "struct", "%": "struct", "target(": "target"}


def node_word(text: str) -> str:
    """Returns the word for the text of a node, such as ``"<i32>"`` for ``"<4 x i32>"``.

    Args:
        text: An element of ``text`` in ``ProgramlArrays``: an opcode or a type.

    Returns:
        One of :data:`NODE_WORDS`; :data:`UNKNOWN` for a text of another LLVM.
    """
    if text in _NUMBERS:
        return text
    if _INTEGER.fullmatch(text):
        return "iN"
    if text.startswith("ptr addrspace("):
        return "ptr"
    if match := _ELEMENT.fullmatch(text):
        vector = f"<{node_word(match[1])}>"
        return vector if vector in _NUMBERS else UNKNOWN
    return next((word for begin, word in _BEGINNINGS.items() if text.startswith(begin)), UNKNOWN)


def graph_tensors(graph: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Returns the numbers of a graph that are the same for all programs.

    Args:
        graph: A value of ``ProgramlArrays``.

    Returns:
        These arrays of int64:

        * ``x`` [nodes]: the indices of the nodes in :data:`NODE_WORDS`;
        * ``node_type`` [nodes]: 0 for instructions, 1 for variables, 2 for constants;
        * ``edge_index`` [2, edges]: the source and the target of each edge;
        * ``edge_type`` [edges]: 0 for control flow, 1 for data flow, 2 for calls;
        * ``edge_position`` [edges]: the number of the successor or the operand.
    """
    words = [_NUMBERS[node_word(text)] for text in graph["text"].tolist()]
    return {
        "x": np.array(words, dtype=np.int64)[graph["node_text"]],
        "node_type": graph["node_type"],
        "edge_index": np.stack([graph["edge_source"], graph["edge_target"]]),
        "edge_type": graph["edge_flow"],
        "edge_position": graph["edge_position"],
    }


def to_pyg(graph: Mapping[str, Any]) -> Any:
    """Makes a graph of PyTorch Geometric.

    Args:
        graph: A value of ``ProgramlArrays``.

    Returns:
        A ``torch_geometric.data.Data`` with the tensors of :func:`graph_tensors`.

    Raises:
        EnvironmentNotSupported: If PyTorch or PyTorch Geometric is not installed.
    """
    torch, data = require("torch"), require("torch_geometric.data")
    tensors = graph_tensors(graph)
    return data.Data(**{name: torch.from_numpy(each) for name, each in tensors.items()})
