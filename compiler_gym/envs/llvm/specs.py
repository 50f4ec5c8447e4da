"""Names: of spaces, of actions, and of the elements of the observation vectors, in order."""

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from compiler_gym.compat.legacy_actions import LEGACY_ACTIONS, LEGACY_SPACE

AUTOPHASE_FEATURE_NAMES: tuple[str, ...] = (
    "BBNumArgsHi",
    "BBNumArgsLo",
    "onePred",
    "onePredOneSuc",
    "onePredTwoSuc",
    "oneSuccessor",
    "twoPred",
    "twoPredOneSuc",
    "twoEach",
    "twoSuccessor",
    "morePreds",
    "BB03Phi",
    "BBHiPhi",
    "BBNoPhi",
    "BeginPhi",
    "BranchCount",
    "returnInt",
    "CriticalCount",
    "NumEdges",
    "const32Bit",
    "const64Bit",
    "numConstZeroes",
    "numConstOnes",
    "UncondBranches",
    "binaryConstArg",
    "NumAShrInst",
    "NumAddInst",
    "NumAllocaInst",
    "NumAndInst",
    "BlockMid",
    "BlockLow",
    "NumBitCastInst",
    "NumBrInst",
    "NumCallInst",
    "NumGetElementPtrInst",
    "NumICmpInst",
    "NumLShrInst",
    "NumLoadInst",
    "NumMulInst",
    "NumOrInst",
    "NumPHIInst",
    "NumRetInst",
    "NumSExtInst",
    "NumSelectInst",
    "NumShlInst",
    "NumStoreInst",
    "NumSubInst",
    "NumTruncInst",
    "NumXorInst",
    "NumZExtInst",
    "TotalBlocks",
    "TotalInsts",
    "TotalMemInst",
    "TotalFuncs",
    "ArgsPhi",
    "testUnary",
)
"""The 56 elements of the ``Autophase`` observation; each is a count over the whole module."""

INST_COUNT_FEATURE_NAMES: tuple[str, ...] = (
    "TotalInsts",
    "TotalBlocks",
    "TotalFuncs",
    "Ret",
    "Br",
    "Switch",
    "IndirectBr",
    "Invoke",
    "Resume",
    "Unreachable",
    "CleanupRet",
    "CatchRet",
    "CatchSwitch",
    "CallBr",
    "FNeg",
    "Add",
    "FAdd",
    "Sub",
    "FSub",
    "Mul",
    "FMul",
    "UDiv",
    "SDiv",
    "FDiv",
    "URem",
    "SRem",
    "FRem",
    "Shl",
    "LShr",
    "AShr",
    "And",
    "Or",
    "Xor",
    "Alloca",
    "Load",
    "Store",
    "GetElementPtr",
    "Fence",
    "AtomicCmpXchg",
    "AtomicRMW",
    "Trunc",
    "ZExt",
    "SExt",
    "FPToUI",
    "FPToSI",
    "UIToFP",
    "SIToFP",
    "FPTrunc",
    "FPExt",
    "PtrToInt",
    "IntToPtr",
    "BitCast",
    "AddrSpaceCast",
    "CleanupPad",
    "CatchPad",
    "ICmp",
    "FCmp",
    "PHI",
    "Call",
    "Select",
    "UserOp1",
    "UserOp2",
    "VAArg",
    "ExtractElement",
    "InsertElement",
    "ShuffleVector",
    "ExtractValue",
    "InsertValue",
    "LandingPad",
    "Freeze",
)
"""The 70 elements of the ``InstCount`` observation: three totals, then instructions by opcode.

The opcodes are those of LLVM 10, for the sake of models trained on them. Opcodes that LLVM gained
since then count towards ``TotalInsts`` only.
"""

CPU_INFO_CACHE_LEVELS: tuple[str, ...] = ("l1i", "l1d", "l2", "l3", "l4")
"""The caches that the ``CpuInfo`` observation describes by size (in bytes) and count."""


observation_spaces: Any
"""The names of the observation spaces of the LLVM environments, in their order.

Starts the service when it is first used, to ask it.
"""

reward_spaces: Any
"""The names of the reward spaces of the LLVM environments, in their order.

Starts the service when it is first used.
"""

_MEMBERS = {name: "".join(part.capitalize() for part in name.split("-")) for name in LEGACY_ACTIONS}

actions: Any = Enum(  # type: ignore[misc]
    "actions", {member: f"-{name}" for name, member in _MEMBERS.items()}
)
"""The flags of the 124 actions of CompilerGym 0.2.5, which are those of the space ``Legacy124``.

A member is called as the pass, in camel case: ``actions.Mem2reg.value == "-mem2reg"``. The actions
of the other spaces depend on LLVM; their names are in ``env.action_space.names``.
"""

action_descriptions: Any  # Made when it is first asked for.

if not TYPE_CHECKING:  # Type checkers would take any name for one that is there.

    def __getattr__(name: str) -> Any:
        if name == "action_descriptions":
            return _action_descriptions()
        if name in ("observation_spaces", "reward_spaces"):
            return _spaces()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _spaces() -> dict[str, Any]:
    """Makes :data:`observation_spaces` and :data:`reward_spaces` from those of an environment."""
    from compiler_gym.util.registration import make

    with make("llvm-v0") as env:
        spaces = {"observation_spaces": env.observation.spaces, "reward_spaces": env.reward.spaces}
    return {kind: Enum(kind, {name: name for name in some}) for kind, some in spaces.items()}


@cache
def _action_descriptions() -> Any:
    """Makes ``action_descriptions``: the service's text about each of :data:`actions`.

    Members have the same names. Equal descriptions are one member with several names.
    """
    from compiler_gym.service.connection import CompilerGymServiceConnection
    from compiler_gym.service.proto.py_converters import message_to_python
    from compiler_gym.util.runfiles_path import find_service_binary

    binary = find_service_binary("compiler_gym-llvm-service")
    with CompilerGymServiceConnection(binary) as service:
        spaces = [message_to_python(space) for space in service.action_spaces]
    legacy = next(space for space in spaces if space.name == LEGACY_SPACE)
    members = zip(legacy.names, legacy.descriptions, strict=True)
    return Enum("action_descriptions", {_MEMBERS[name]: text for name, text in members})
