"""inst2vec: embeddings of the statements of a program.

After Ben-Nun et al., "Neural Code Comprehension: A Learnable Representation of Code Semantics",
NeurIPS 2018. ``docs/environments/observations.md`` says where the published vocabulary goes.
"""

from compiler_gym.envs.llvm.inst2vec.encoder import (
    EMBEDDING_SIZE,
    UNKNOWN,
    Inst2vecEncoder,
    StatementReader,
    Vocabulary,
    default_encoder,
    find_vocabulary,
    load_vocabulary,
    make_test_vocabulary,
    save_vocabulary,
)

__all__ = [
    "EMBEDDING_SIZE",
    "UNKNOWN",
    "Inst2vecEncoder",
    "StatementReader",
    "Vocabulary",
    "default_encoder",
    "find_vocabulary",
    "load_vocabulary",
    "make_test_vocabulary",
    "save_vocabulary",
]
