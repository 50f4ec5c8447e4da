"""Takes a function out of a program, and reduces it as long as a decision still saves enough."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiler_gym.mine.decisions import scratch_environment
from compiler_gym.mine.objective import Objective, Trial
from compiler_gym.mine.scripts import MODULE, SCRIPT
from compiler_gym.util import llvm_tools as llvm
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.findings import reduce_module

_TOOL_SECONDS = 120

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

# Passes that change the meaning of the program. Attributes are removed later.
_LEFT_OUT = (
    "attributes,target-features-attr,operands-poison,operands-nan,volatile,syncscopes,"
    "atomic-ordering"
)
_GROUP = re.compile(r"^(attributes #\d+ = \{)(.*)\}$", re.MULTILINE)
_NAME = re.compile(r"@([\w.$-]+)")
# A global or a declaration.
_UNDEFINED = re.compile(r"^(?:declare [^@\n]*)?@([\w.$-]+)(?: = |\().*\n", re.MULTILINE)
_ATTRIBUTE = re.compile(r'"[^"]*"="[^"]*"|"[^"]*"|[^\s"]+\([^)]*\)|[^\s"]+')


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


def without_unused(text: str) -> str:
    """Returns textual IR without globals and declarations that nothing uses."""
    uses = Counter(_NAME.findall(text))
    kept = _UNDEFINED.sub(lambda each: "" if uses[each[1]] == 1 else each[0], text)
    return text if kept == text else without_unused(kept)


def extract(
    program: Path, function: str, more: Sequence[str], folder: Path, objective: Objective
) -> Path | None:
    """Takes a function out of a program, with its constants.

    Args:
        program: The program.
        function: The symbol.
        more: Further options of ``llvm-extract``.
        folder: Where the textual IR is written, and scratch files.
        objective: Has the attributes that are removed.
    """
    bitcode, path = folder / "extracted.bc", folder / "extracted.ll"
    strip = "-passes=forceattrs,globaldce,strip-dead-prototypes"
    removed = [f"-force-remove-attribute={each}" for each in objective.removed_attributes]
    commands: list[list[str | Path]] = [
        [llvm.llvm_extract_path(), f"--func={function}", *more, "--keep-const-init", program],
        [llvm.opt_path(), strip, *removed, "-strip-debug", "-S", bitcode],
    ]
    try:
        for command, output in zip(commands, (bitcode, path), strict=True):
            run_command([*command, "-o", output], _TOOL_SECONDS, env=scratch_environment(folder))
    except (CommandError, subprocess.TimeoutExpired):
        return None
    if objective.has_entry:
        path.write_text(without_unused(path.read_text()))
    return path


class Reducer:
    """Reduces one function, in a scratch folder of its own.

    Args:
        objective: The cost that the decision reduces.
        trial: The function and the decision. The module is the program.
        seconds: How long ``llvm-reduce`` may take.
    """

    def __init__(self, objective: Objective, trial: Trial, seconds: float):
        self._objective = objective
        self._trial = trial
        self._folder = trial.folder
        self._seconds = seconds
        self._environment = scratch_environment(trial.folder)

    def reduce(self) -> Reduced | None:
        """Returns the reduced function; None if it does not show the saving by itself."""
        module = self._prepared()
        if module is None:
            return None
        bare = self._folder / "bare.ll"
        bare.write_text(_without_metadata(module.read_text()))
        reduced = self._reduced(bare if self.shows(bare) else module)
        self._drop_attributes(reduced.module)
        text = _without_origin(reduced.module.read_text())
        reduced.module.write_text(without_unused(text) if self._objective.has_entry else text)
        return reduced

    def shows(self, module: Path, is_guarded: bool = True) -> bool:
        """Returns whether the decision saves enough of a module.

        Args:
            module: The textual IR.
            is_guarded: Whether modules with undefined behaviour that shows are refused.
        """
        path = self._folder / SCRIPT
        path.write_text(self._objective.script(self._trial, is_guarded))
        try:
            done = run_command(
                ["/bin/bash", path, module], _TOOL_SECONDS, env=self._environment, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _prepared(self) -> Path | None:
        """Takes the function out, as clean IR if that shows the saving."""
        program = self._trial.module
        inlined = self._folder / "inlined.bc"
        more: tuple[str, ...]
        for source, more in ((program, ()), (program, ("--recursive",)), (inlined, ())):
            if source == inlined and not self._run(
                llvm.opt_path(), f"-passes={_INLINED}", program, "-o", inlined
            ):
                continue
            extracted = self._extracted(source, more)
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

    def _extracted(self, program: Path, more: Sequence[str]) -> Path | None:
        """Takes the function out; None if it does not show the saving."""
        path = extract(program, self._trial.function, more, self._folder, self._objective)
        if path is None:
            return None
        variables = self._objective.prepare(replace(self._trial, module=path))
        if variables is None:
            return None
        self._environment |= variables
        return path if self.shows(path, is_guarded=False) else None

    def _run(self, *command: str | Path) -> bool:
        try:
            run_command(command, _TOOL_SECONDS, env=self._environment)
        except (CommandError, subprocess.TimeoutExpired):
            return False
        return True

    def _reduced(self, module: Path) -> Reduced:
        kept = self._folder / MODULE
        shutil.copyfile(module, kept)
        left_out = ",".join((_LEFT_OUT, *self._objective.fixed_parts))
        is_complete = reduce_module(
            module,
            f"QUIET=1 /bin/bash ./{SCRIPT}",
            kept,
            self._seconds,
            self._environment,
            [f"--skip-delta-passes={left_out}"],
        )
        return Reduced(kept, is_complete)

    def _drop_attributes(self, module: Path) -> None:
        """Leaves only those attributes of functions without which the saving is gone."""
        trial = self._folder / "trial.ll"
        for start, _ in _GROUP.findall(module.read_text()):
            text = module.read_text()
            match = next(each for each in _GROUP.finditer(text) if each[1] == start)
            names = _ATTRIBUTE.findall(match[2])
            fewest = [each for each in names if each in self._objective.kept_attributes]
            choices = [fewest] + [[one for one in names if one != each] for each in names]
            for choice in choices:
                trial.write_text(self._with_attributes(text, match, choice))
                if {*fewest} <= {*choice} and self.shows(trial):
                    shutil.copyfile(trial, module)
                    break

    def _with_attributes(self, text: str, match: re.Match[str], choice: Sequence[str]) -> str:
        """Returns IR with other attributes in a group. Without any, no function has the group."""
        if choice or self._objective.kept_attributes:
            group = f"{match[1]} {' '.join(choice)} }}"
            return text[: match.start()] + group + text[match.end() :]
        number = match[1].split()[1]
        return re.sub(rf" {number}\b", "", text[: match.start()] + text[match.end() :])
