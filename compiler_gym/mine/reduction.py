"""Takes a function out of a program, and reduces it as long as a decision still saves bytes."""

import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.mine.decisions import Decision, Tools, baseline_command, scratch_environment
from compiler_gym.util import llvm_tools as llvm
from compiler_gym.util.commands import CommandError, run_command

SCRIPT = "check.sh"
_TOOL_SECONDS = 120

# IR that means nothing: a reducer would soon leave nothing else.
NONSENSE = (
    r"(^|[^%@.A-Za-z0-9_])(undef|poison|unreachable)($|[^A-Za-z0-9_])"
    r"|(load|store) .*, ptr null|getelementptr .*ptr null|br i1 (true|false)"
    r"|(div|rem) (exact )?i[0-9]+ .*, 0$"
    r"|(nonnull|dereferenceable\([0-9]+\)) null|call .* null\("
)

_SCRIPT = """\
#!/bin/bash
# {title}
#
# usage: {name} [FILE]    with textual IR or bitcode, by default {input} beside this script
#
# Exit code 0: the decision saves {least} bytes or more. Another LLVM: CLANG=... OPT=... {name}
set -o pipefail
clang=${CLANG:-{clang}}
opt=${OPT:-{opt}}
size=${SIZE:-{size}}
input=$(realpath "${1:-$(dirname "$0")/{input}}") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
{guard}{baseline} 2>/dev/null || exit 1
{decision} 2>/dev/null || exit 1
bytes() { "$size" "$1" | awk 'END { print $1 + $2 }'; }
before=$(bytes before.o) after=$(bytes after.o)
[ -n "$QUIET" ] || echo "clang -Oz: $before bytes; {title}: $after bytes"
# Less than this is no function.
[ "$after" -ge 4 ] && [ $((before - after)) -ge {least} ]
"""

_GUARD = """\
case $input in
  *.ll) ! grep -Eq {pattern} "$input" || exit 1 ;;
esac
"""

_KEEPING = """\
#!/bin/bash
# Asks the script, and keeps the last module of which it says yes: the reducer can be stopped then.
QUIET=1 /bin/bash ./{script} "$1" || exit 1
cp "$1" kept.new && mv kept.new {kept}
"""

# Cleaner IR to begin with, tried in this order.
_SIMPLIFY = "sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>"
_PREPARATIONS = (
    f"function({_SIMPLIFY})",
    # Also without the blocks that nothing reaches, which clang leaves behind early returns.
    f"function({_SIMPLIFY},jump-threading,simplifycfg)",
    "function(sroa,early-cse)",
    "function(mem2reg)",
)

_INLINED = f"cgscc(inline,{_PREPARATIONS[0]})"

# What would make other programs of it: of the attributes, minsize has to stay.
_LEFT_OUT = (
    "attributes,target-features-attr,operands-poison,operands-nan,volatile,syncscopes,"
    "atomic-ordering"
)
_GROUP = re.compile(r"^(attributes #\d+ = \{)(.*)\}$", re.MULTILINE)
_ATTRIBUTE = re.compile(r'"[^"]*"="[^"]*"|"[^"]*"|[^\s"]+\([^)]*\)|[^\s"]+')
_KEPT_ATTRIBUTES = ("minsize", "optsize")


@dataclass(frozen=True)
class Reduced:
    """A reduced function.

    Attributes:
        module: The textual IR.
        is_complete: Whether the reducer came to its end.
    """

    module: Path
    is_complete: bool

    @property
    def lines(self) -> int:
        """The lines of IR, without empty ones and comments."""
        return len(code_lines(self.module.read_text()))


def code_lines(text: str) -> list[str]:
    """Returns the lines of textual IR that say something about the code.

    Empty lines, comments, and lines about the file, the target and attributes are left out.
    """
    other = (";", "source_filename", "target ", "attributes ", "!")
    return [line for line in text.splitlines() if line.strip() and not line.startswith(other)]


def _without_origin(text: str) -> str:
    """Returns textual IR without comments, the name of its source and the order of uses."""
    other = (";", "source_filename", "uselistorder")
    return "\n".join(each for each in text.splitlines() if not each.startswith(other)) + "\n"


def _without_metadata(text: str) -> str:
    """Returns textual IR without metadata: an aliasing analysis then knows less."""
    lines = (re.sub(r", ![\w.]+ !\d+", "", each) for each in text.splitlines())
    return "\n".join(each for each in lines if not each.startswith("!")) + "\n"


def script(decision: Decision, least: int, tools: Tools, is_guarded: bool) -> str:
    """Returns the script that says whether a decision makes a module smaller.

    Args:
        decision: The decision.
        least: How many bytes it has to save.
        tools: The LLVM.
        is_guarded: Whether modules with undefined behaviour that shows are refused.
    """
    named = Tools('"$clang"', '"$opt"')
    guard = _GUARD.replace("{pattern}", shlex.quote(NONSENSE)) if is_guarded else ""
    values = {
        "title": decision.title,
        "name": SCRIPT,
        "input": "reduced.ll",
        "least": str(least),
        "clang": tools.clang,
        "opt": tools.opt,
        "size": shlex.quote(str(llvm.llvm_size_path())),
        "guard": guard,
        "baseline": baseline_command('"$input"', "before.o", named),
        "decision": decision.command('"$input"', "after.o", named),
    }
    text = _SCRIPT
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


class Reducer:
    """Reduces one function, in a scratch folder of its own.

    Args:
        decision: The decision that makes it smaller.
        least: How many bytes it has to save.
        tools: The LLVM.
        folder: The scratch folder.
        seconds: How long ``llvm-reduce`` may take.
    """

    def __init__(self, decision: Decision, least: int, tools: Tools, folder: Path, seconds: float):
        self._decision = decision
        self._least = least
        self._tools = tools
        self._folder = folder
        self._seconds = seconds
        self._environment = scratch_environment(folder)

    def reduce(self, program: Path, function: str) -> Reduced | None:
        """Returns the reduced function; None if it does not show the saving by itself."""
        module = self._prepared(program, function)
        if module is None:
            return None
        bare = self._folder / "bare.ll"
        bare.write_text(_without_metadata(module.read_text()))
        reduced = self._reduced(bare if self.shows(bare) else module)
        self._drop_attributes(reduced.module)
        reduced.module.write_text(_without_origin(reduced.module.read_text()))
        return reduced

    def shows(self, module: Path, is_guarded: bool = True) -> bool:
        """Returns whether the decision saves enough of a module.

        Args:
            module: The textual IR.
            is_guarded: Whether modules with undefined behaviour that shows are refused.
        """
        path = self._folder / SCRIPT
        path.write_text(script(self._decision, self._least, self._tools, is_guarded))
        try:
            done = run_command(
                ["/bin/bash", path, module], _TOOL_SECONDS, env=self._environment, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _prepared(self, program: Path, function: str) -> Path | None:
        """Takes a function out, as clean IR if that shows the saving."""
        inlined = self._folder / "inlined.bc"
        more: tuple[str, ...]
        for source, more in ((program, ()), (program, ("--recursive",)), (inlined, ())):
            if source == inlined and not self._run(
                llvm.opt_path(), f"-passes={_INLINED}", program, "-o", inlined
            ):
                continue
            extracted = self._extracted(source, function, more)
            if extracted is None:
                continue
            for number, passes in enumerate(_PREPARATIONS):
                path = self._folder / f"prepared-{number}.ll"
                command = (llvm.opt_path(), f"-passes={passes}", extracted, "-S", "-o", path)
                if self._run(*command) and self.shows(path):
                    return path
            if self.shows(extracted):
                return extracted
        return None

    def _extracted(self, program: Path, function: str, more: Sequence[str]) -> Path | None:
        """Takes a function out, with its constants; None if it does not show the saving."""
        bitcode, path = self._folder / "extracted.bc", self._folder / "extracted.ll"
        # Unwind tables would be counted.
        strip = "-passes=forceattrs,globaldce,strip-dead-prototypes"
        extract: list[str | Path] = [llvm.llvm_extract_path(), f"--func={function}", *more]
        attributes = ("-force-remove-attribute=uwtable", "-strip-debug")
        is_made = self._run(*extract, "--keep-const-init", program, "-o", bitcode) and self._run(
            llvm.opt_path(), strip, *attributes, bitcode, "-S", "-o", path
        )
        return path if is_made and self.shows(path, is_guarded=False) else None

    def _run(self, *command: str | Path) -> bool:
        try:
            run_command(command, _TOOL_SECONDS, env=self._environment)
        except (CommandError, subprocess.TimeoutExpired):
            return False
        return True

    def _reduced(self, module: Path) -> Reduced:
        kept = self._folder / "reduced.ll"
        shutil.copyfile(module, kept)
        test = self._folder / "test.sh"
        test.write_text(_KEEPING.format(script=SCRIPT, kept=kept.name))
        test.chmod(test.stat().st_mode | stat.S_IXUSR)
        command: list[str | Path] = [llvm.tool_path("llvm-reduce"), "-j=1", f"--test={test}"]
        command += [f"--skip-delta-passes={_LEFT_OUT}", module, "-o", self._folder / "last.ll"]
        try:
            run_command(command, self._seconds, cwd=self._folder, env=self._environment)
        except (CommandError, subprocess.TimeoutExpired):
            return Reduced(kept, is_complete=False)
        return Reduced(kept, is_complete=True)

    def _drop_attributes(self, module: Path) -> None:
        """Leaves only those attributes of functions without which the saving is gone."""
        trial = self._folder / "trial.ll"
        for number in range(len(_GROUP.findall(module.read_text()))):
            text = module.read_text()
            match = [*_GROUP.finditer(text)][number]
            names = _ATTRIBUTE.findall(match[2])
            fewest = [each for each in names if each in _KEPT_ATTRIBUTES]
            choices = [fewest] + [[one for one in names if one != each] for each in names]
            for choice in choices:
                group = f"{match[1]} {' '.join(choice)} }}"
                trial.write_text(text[: match.start()] + group + text[match.end() :])
                if {*fewest} <= {*choice} and self.shows(trial):
                    shutil.copyfile(trial, module)
                    break
