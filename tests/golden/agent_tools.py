"""The answers of the tools of agents: a call follows "> ", and its answer comes next.

It is recorded together with the commands. See ``commands.py``.
"""

import json
import re
from contextlib import closing
from pathlib import Path

from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.workbench import Workbench

PATH = Path(__file__).with_name("agent_tools.txt")
_LIMITS = Limits(answer_characters=2_000, branches=3, sequences=4)


def _answer(bench: Workbench, tool: str, arguments: str) -> str:
    try:
        return getattr(bench, tool)(**json.loads(arguments))
    except AgentError as error:
        return f"Error: {error}"


def record() -> str:
    """Returns the text of the file now."""
    calls = re.findall(r"^> (\w+) (\{.*\})$", PATH.read_text(encoding="utf-8"), re.M)
    with closing(Compiler(_LIMITS)) as compiler, closing(Workbench(compiler, _LIMITS)) as bench:
        answers = [f"> {call[0]} {call[1]}\n{_answer(bench, *call)}" for call in calls]
    return "".join(f"{each.rstrip()}\n\n" for each in answers)
