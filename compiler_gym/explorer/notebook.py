"""The explorer for the state of an environment, in a cell of a notebook or in the browser."""

import atexit
import html
import sys
import threading
import webbrowser
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlencode

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.explorer.limits import LOCAL
from compiler_gym.explorer.server import PAGE, ExplorerServer, new_token
from compiler_gym.explorer.workbench import Workbench


@dataclass(frozen=True)
class Exploration:
    """A page of the explorer, which a notebook shows as a frame.

    Attributes:
        url: The address of the page. It holds a secret: whoever has it can use the page.
        height: The height of the frame, in pixels.
    """

    url: str
    height: int = 720

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{html.escape(self.url)}" width="100%" height="{self.height}" '
            'style="border: 1px solid #8884; border-radius: 8px" title="CompilerGym explorer" '
            'allow="clipboard-write"></iframe>'
        )


def explore(env: LlvmEnv, height: int = 720) -> Exploration:
    """Shows the state of an environment. See :meth:`LlvmEnv.explore`."""
    env.observation["IrInstructionCount"]  # Raises if there is no episode.
    assert env.benchmark is not None
    bench, url = _server()
    program = bench.add(env.benchmark).message
    commandline = env.commandline()
    for space in (bench.action_space, bench.pipeline_space):
        try:
            actions = [space.names[number] for number in space.from_string(commandline)]
            break
        except (LookupError, ValueError):
            continue
    else:
        raise ValueError(
            f"expected actions of the space PassesAll or Pipelines, got {commandline!r}; reset the "
            "environment with one of these action spaces"
        )
    (ir,) = bench.observe(program.id, actions, ["Ir"])
    if ir != env.ir:
        raise ValueError(
            "expected a state that the explorer's passes repeat, got another program; environments "
            "with a target, plugins or fresh analyses of their own cannot be explored"
        )
    fragment = urlencode({"program": program.name, "actions": ",".join(actions)})
    page = Exploration(f"{url}#{fragment}", height)
    if not _is_notebook():
        webbrowser.open(page.url)
    return page


@cache
def _server() -> tuple[Workbench, str]:
    """Starts the server of this process."""
    if not (PAGE / "index.html").is_file():
        raise FileNotFoundError("The page of the explorer is not built: install the wheel")
    bench = Workbench(LOCAL)
    server = ExplorerServer(bench, new_token(), "127.0.0.1", 0, PAGE)
    threading.Thread(target=server.run, daemon=True, name="explorer").start()

    def close() -> None:
        server.stop()
        bench.close()

    atexit.register(close)
    return bench, server.url


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None
