"""inst2vec, which is in ``compiler_gym.envs.llvm.inst2vec``."""

from compiler_gym.envs.llvm.inst2vec import Inst2vecEncoder

__all__ = ["Inst2vecEncoder"]
