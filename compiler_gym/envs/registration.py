"""Registration of the environments by their ids."""

from typing import Literal

from compiler_gym.util.registration import register

LlvmId = Literal[
    "llvm-v0",
    "llvm-ic-v0",
    "llvm-codesize-v0",
    "llvm-autophase-ic-v0",
    "llvm-autophase-codesize-v0",
    "llvm-ir-ic-v0",
    "llvm-ir-codesize-v0",
]
"""The ids of environments whose actions are passes, for type checkers."""

_ENTRY_POINT = "compiler_gym.envs.llvm.llvm_env:LlvmEnv"

_ENVIRONMENTS: dict[LlvmId, dict[str, str]] = {
    "llvm-v0": {},
    "llvm-ic-v0": {"reward_space": "IrInstructionCountOz"},
    "llvm-codesize-v0": {"reward_space": "ObjectTextSizeOz"},
    "llvm-autophase-ic-v0": {
        "observation_space": "Autophase",
        "reward_space": "IrInstructionCountOz",
    },
    "llvm-autophase-codesize-v0": {
        "observation_space": "Autophase",
        "reward_space": "ObjectTextSizeOz",
    },
    "llvm-ir-ic-v0": {"observation_space": "Ir", "reward_space": "IrInstructionCountOz"},
    "llvm-ir-codesize-v0": {"observation_space": "Ir", "reward_space": "ObjectTextSizeOz"},
}
# Of the environments whose actions are decisions, by id: the class and the observation.
_GAMES = {
    "llvm-inline-v0": ("inline_env:InlineEnv", "InlineFeatures"),
    "llvm-regalloc-v0": ("regalloc.regalloc_env:RegallocEnv", "EvictionFeatures"),
    "llvm-inline-regalloc-v0": (
        "regalloc.inline_regalloc_env:InlineRegallocEnv",
        "DecisionFeatures",
    ),
}

_FOR_LEARNERS = {"observation_space": "Autophase", "reward_space": "IrInstructionCountOz"}


def register_environments() -> None:
    """Registers the environments of all compilers.

    Users of gymnasium get the observation and reward of ``gymnasium_kwargs`` by default.
    """
    for id, kwargs in _ENVIRONMENTS.items():
        missing = {name: space for name, space in _FOR_LEARNERS.items() if name not in kwargs}
        register(id=id, entry_point=_ENTRY_POINT, kwargs=kwargs, gymnasium_kwargs=missing)
    register(
        id="llvm-pieces-ic-v0",
        entry_point="compiler_gym.tuning.policies.pieces_env:make_pieces_env",
        kwargs=_FOR_LEARNERS,
    )
    for game, (env_class, observation) in _GAMES.items():
        register(
            id=game,
            entry_point=f"compiler_gym.envs.llvm.{env_class}",
            kwargs={"observation_space": observation, "reward_space": "ObjectTextSizeNorm"},
        )
    register(
        id="gcc-v0",
        entry_point="compiler_gym.envs.gcc.gcc_env:GccEnv",
        gymnasium_kwargs={"observation_space": "choices", "reward_space": "obj_size"},
    )
    register(
        id="mlir-v0",
        entry_point="compiler_gym.envs.mlir.mlir_env:MlirEnv",
        nondeterministic=True,  # The reward is from measured times.
        gymnasium_kwargs={"observation_space": "LoopNest", "reward_space": "SpeedUp"},
    )
