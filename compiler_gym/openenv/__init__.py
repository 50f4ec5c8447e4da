"""The LLVM environment for OpenEnv: sessions over a WebSocket, tasks, and a verified reward.

>>> from compiler_gym.openenv import CompilerAction, CompilerEnvClient
>>> with CompilerEnvClient(base_url="http://127.0.0.1:8000").sync() as env:
...     result = env.reset(split="test", index=5)
...     result = env.step(CompilerAction(tool="apply_passes", passes=["sroa", "gvn"]))
...     result = env.step(CompilerAction(tool="submit"))

The server is ``python -m compiler_gym.openenv.app``. See ``docs/guides/agents.md``.
"""

from typing import TYPE_CHECKING, Any

from compiler_gym.util.lazy_names import lazy_names
from compiler_gym.util.optional_packages import require

if TYPE_CHECKING:
    from compiler_gym.openenv.client import CompilerEnvClient
    from compiler_gym.openenv.environment import CompilerEnvironment
    from compiler_gym.openenv.models import CompilerAction, CompilerObservation, CompilerState

__all__ = [
    "CompilerAction",
    "CompilerEnvClient",
    "CompilerEnvironment",
    "CompilerObservation",
    "CompilerState",
]

_MODULES = {
    **dict.fromkeys(__all__, ".models"),
    "CompilerEnvClient": ".client",
    "CompilerEnvironment": ".environment",
}
_get = lazy_names(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    if name in __all__:
        require("openenv", ImportError)
    return _get(name)
