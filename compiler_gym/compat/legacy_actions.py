"""The 124 actions of CompilerGym 0.2.5 (LLVM 10), and their present names.

Programs and results of that release refer to actions by name (``-mem2reg``) or by index.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

# The LLVM service reads the same file for its action space Legacy124.
_TABLE = Path(__file__).with_name("legacy_actions.json")

LEGACY_SPACE = "Legacy124"
"""The action space of the LLVM service that has these actions, by the names of LLVM 10."""

LEGACY_ACTIONS: Mapping[str, str | None] = MappingProxyType(
    dict(json.loads(_TABLE.read_text(encoding="utf-8")))
)
"""Today's pass for the name of each action, in the order of the original indices.

Most names survive. Some passes have been renamed, e.g. ``flattencfg``. Some have been replaced by
another pass that does their work: ``loop-unswitch`` by ``simple-loop-unswitch<nontrivial>``,
``ipconstprop`` by ``ipsccp``, ``constprop`` by ``instsimplify``, ``die`` by ``dce``. Three are gone
without a replacement and have the value None: ``barrier`` (which did nothing), ``loop-reroll`` and
``prune-eh``. An action space may leave out passes that this table names, because they are not safe
on every program.
"""
