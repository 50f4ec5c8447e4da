"""The LLVM environment for OpenEnv: sessions over a WebSocket, tasks, and a verified reward.

>>> from compiler_gym.openenv import CompilerAction, CompilerEnvClient
>>> with CompilerEnvClient(base_url="http://127.0.0.1:8000").sync() as env:
...     result = env.reset(split="test", index=5)
...     result = env.step(CompilerAction(tool="apply_passes", passes=["sroa", "gvn"]))
...     result = env.step(CompilerAction(tool="submit"))

The server is ``python -m compiler_gym.openenv.app``. See ``docs/guides/agents.md``.
"""

import importlib.util
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "CompilerEnvClient": "client",
    "CompilerEnvironment": "environment",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("openenv") is None:
        raise ImportError(
            f"{__name__}.{name} needs the package openenv: install compiler_gym[openenv]"
        )
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'models')}"), name)
