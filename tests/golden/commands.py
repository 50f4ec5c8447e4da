"""Help of the commands, typical output, and their answers to mistakes.

    bazel run //tests/golden:record_commands

records them again. See the difference with ``git diff tests/golden``. To add a command line, write
it into a file of ``commands/`` and record them all.

A command line follows "$ ". It may begin with variables, and end with "<<<" and a text, the
standard input, in which each semicolon stands for a line break. ``$SERVICE`` is a compiler service
that is written for tests. What it prints on the two streams and its exit code, if that is not 0,
come next. Each runs in a folder with the same small files, and changes nothing there.
"""

import os
import re
import shlex
import sys
import tempfile
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path

import compiler_gym
from tests.prepared import PreparedInterpreter

_SERVICE = Path(__file__).parents[1] / "compliance" / "breakable_service.py"
_RENEW = "If that is meant, record it again: bazel run //tests/golden:record_commands"
FILES = sorted((Path(__file__).parent / "commands").glob("*.txt"))
_SROA = "opt -passes='module(function(sroa))' input.bc -o output.bc"
_STATES = (
    "benchmark,reward,walltime,commandline\n"
    f"kernels-v0/sha256,0.8375,1.5,{_SROA}\nkernels-v0/json,0.5,2.5,{_SROA}\n"
)
_FILES = {
    "program.c": "int main(int n, char **p) {\n"
    "  int s = 0;\n  for (int i = 0; i < n; i++) s += i * n;\n  return s;\n}\n",
    "unit.c": "int g(int);\n"
    + "".join(f"int f{n}(int x) {{ return g(x * {n} + 3) + g(x / 7); }}\n" for n in range(9)),
    "wrong.c": "int f(void) { return g; }\n",
    "other.c": "int f(int x) {\n  return x + x;\n}\n",
    "program.s": "",
    "number.txt": "3",
    "empty.json": "{}",
    "misspelt.json": '{"about": {}, "sequences": ["sroaa"]}',
    "misspelt.txt": "mem2rg\n",
    "policy.json": '{"about": {"by": "hand"}, "sequences": ["mem2reg", "sroa early-cse licm"]}',
    "states.csv": _STATES,
    "failing.csv": _STATES.replace("sha256", "none"),
    "no_states.csv": _STATES.partition("\n")[0] + "\n",
    "project/compile_commands.json": '[{"directory": ".", "command": "cc -c a.c"}]',
}
_MAINS = {
    "compiler-gym": "from compiler_gym.cli.entry import main\nmain()\n",
    "compiler-gym-cc": "from compiler_gym.cli.compiler_wrapper import cc\ncc()\n",
}


class Session:
    """A shell of the small language of the files, in a folder of its own."""

    def __init__(self, folder: Path):
        self._root = folder
        self._folder = folder / "work"
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COMPILER_GYM_", "PYTHON"))
        }
        self._environment |= {
            f"COMPILER_GYM_{name}": str(folder / name.lower())
            for name in ("SITE_DATA", "CACHE", "TRANSIENT_CACHE", "LOGS")
        }
        self._environment |= {"COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path)}
        modules = ["compiler_gym.cli.app"]
        if find_spec("compiler_gym.cli.optimize_several"):  # The target depends on the command.
            modules.append("compiler_gym.cli.optimize_several")
        self._interpreter = PreparedInterpreter(*modules)
        for name, text in _FILES.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(self, line: str) -> str:
        """Returns what a command line prints, in the form of the files."""
        before, _, stdin = line.partition(" <<< ")
        words = [word.replace("$SERVICE", str(_SERVICE)) for word in shlex.split(before)]
        environment = dict(self._environment)
        while re.match(r"\w+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        if words[0] == "python":
            words = words[2:]
            code = f"import runpy\nrunpy.run_module({words[0]!r}, run_name='__main__')\n"
        else:
            code = _MAINS[words[0]]
        argv = [f"{words[0].rpartition('.')[2]}.py", *words[1:]]
        code = f"import sys\nsys.argv = {argv!r}\n{code}"
        text = "".join(shlex.split(stdin)).replace(";", "\n")
        done = self._interpreter.run_code(code, self._folder, environment, text)
        code = f"exit code {done.returncode}\n" if done.returncode else ""
        self._check_folder(line)
        return self._neutral(f"{done.stdout}{done.stderr}{code}")

    def _check_folder(self, line: str) -> None:
        found = {path for path in self._folder.rglob("*") if path.is_file()}
        assert found == {self._folder / name for name in _FILES}, f"It leaves files: {line}"
        for name, text in _FILES.items():
            assert (self._folder / name).read_text(encoding="utf-8") == text, line

    def _neutral(self, text: str) -> str:
        """Returns a text without what differs between machines and versions."""
        text = text.replace(str(self._folder), "FOLDER").replace(str(self._root), "ROOT")
        text = text.replace(str(_SERVICE), "$SERVICE").replace(compiler_gym.__version__, "VERSION")
        text = re.sub(r"^\S+:\d+: \w*Warning: .*\n( .*\n)?", "", text, flags=re.M)
        # Slow machines show the progress.
        text = re.sub(r"^\d+ of \d+ \w+, [\d.]+/s, .* workers\n", "", text, flags=re.M)
        # By default as many as there are processors.
        text = re.sub(r"(--jobs (?:(?! --)[^[])*\[default: )\d+", r"\1N", text)
        text = re.sub(r"(--nproc: .*\n +\(default: ')\d+", r"\1N", text)
        text = re.sub(r"/\S*?/(?=(llvm_service|examples)/)", "SOURCES/", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d-]+", "TIME", text)
        text = re.sub(r"\b[\d.]+ seconds\b", "N seconds", text)
        text = re.sub(r'"(seconds|walltime|bytes_on_disk)": [\d.e-]+', r'"\1": N', text)
        text = re.sub(r"\b\d+\.\d+\.\d+(?= \S+-linux-gnu)", "N", text)
        return "".join(line.rstrip() + "\n" for line in text.splitlines())

    def record(self, path: Path) -> str:
        """Returns the text of a file now."""
        lines = re.findall(r"^\$ (.*)$", path.read_text(encoding="utf-8"), re.M)
        return "\n".join(f"$ {line}\n{self.run(line)}" for line in lines)


def check(path: Path, text: str) -> None:
    """Asserts that a file has a text; otherwise the error shows the difference."""
    before = path.read_text(encoding="utf-8")
    lines = unified_diff(before.splitlines(), text.splitlines(), path.name, "now", lineterm="")
    assert text == before, "\n".join([*lines, _RENEW])


def main() -> None:
    """Records all files."""
    from tests.golden import agent_tools  # Most targets with commands do without agents.

    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder).resolve())
        for path in FILES:
            path.write_text(session.record(path), encoding="utf-8")
    agent_tools.PATH.write_text(agent_tools.record(), encoding="utf-8")


if __name__ == "__main__":
    main()
