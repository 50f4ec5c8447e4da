"""Links object files to programs, and measures them."""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.bitcode import link, run_tool
from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.tuning.size.compilation import IR_SUFFIXES, Compilation
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.memory_regions import (
    MemoryUse,
    is_about_space,
    read_memory_use,
    with_report,
)
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.tuning.size.trial_linking import LinkedSize, LinkError, stripped_size
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.shell_format import how_it_failed

_LINK_SECONDS = 600


@dataclass(frozen=True)
class Linker:
    """A command that links an object file to a program.

    Attributes:
        command: A shell command. ``{}`` stands for the paths of the object files, and the
            environment variable ``PROGRAM`` has the path of the program. Commands run in the
            current folder, several at a time. None for clang.
        libraries: Options for the linker at the end of the command of clang.
        before: Object files to link before it.
        after: Object files to link after it.
        name: The relative path under which it is linked, since linker scripts may name files; empty
            for its own path.
        region: The region of memory whose use is the size of the program; empty for all bytes that
            are loaded. It needs a command.
    """

    command: str | None = None
    libraries: Sequence[str] = LIBRARIES
    before: tuple[Path, ...] = ()
    after: tuple[Path, ...] = ()
    name: str = ""
    region: str = ""

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file.

        Args:
            object_file: The object file.
            program: The path of the new program.

        Raises:
            LinkError: If linking fails. The text has advice.
        """
        done = self._run(object_file, program)
        if done.returncode or not program.is_file():
            raise LinkError(self._failure(done))

    def measure(self, object_file: Path) -> LinkedSize | MemoryUse:
        """Links an object file, and returns what the program uses of the region, or else its size.

        Raises:
            LinkError: If it cannot be linked for another reason than that it does not fit.
            ValueError: If the program is not ELF.
        """
        return self.memory_use(object_file) if self.region else self.size(object_file)

    def size(self, object_file: Path) -> LinkedSize:
        """Links an object file, and returns the size of the program.

        Raises:
            LinkError: If it cannot be linked or stripped.
            ValueError: If the program is not ELF.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            program = Path(folder) / "program"
            self.link(object_file, program)
            return stripped_size(program)

    def memory_use(self, object_file: Path) -> MemoryUse:
        """Links an object file, and returns what the program uses of regions of memory.

        Raises:
            LinkError: If it cannot be linked for another reason than that it does not fit.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            program = Path(folder) / "program"
            done = self._run(object_file, program)
            is_linked = done.returncode == 0 and program.is_file()
        if not is_linked and not is_about_space(done.stderr):
            raise LinkError(self._failure(done))
        return read_memory_use(self.region, f"{done.stdout}\n{done.stderr}", is_linked)

    def _run(self, object_file: Path, program: Path) -> subprocess.CompletedProcess[str]:
        """Returns what the command did, without the names of temporary files in its messages."""
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            named = object_file
            if self.name:
                named = Path(folder) / self.name
                named.parent.mkdir(parents=True, exist_ok=True)
                named.symlink_to(object_file.absolute())
            words = self._command([*self.before, named, *self.after], program)
            environment = llvm_tools.command_environment() | {"PROGRAM": str(program)}
            environment["LC_ALL"] = "C"
            try:
                done = run_command(words, _LINK_SECONDS, env=environment, check=False)
            except subprocess.TimeoutExpired:
                raise LinkError(f"Linking takes more than {_LINK_SECONDS} s") from None
        said = done.stderr.replace(str(named), "{}").replace(str(program), "$PROGRAM")
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, said)

    def _failure(self, done: subprocess.CompletedProcess[str]) -> str:
        """Returns why there is no program, with advice."""
        if done.returncode == 0:
            return (
                "The command of --link has not written the program, whose path is in $PROGRAM: add "
                "-o $PROGRAM to it"
            )
        advice = ". Name a command that links it, as --link 'clang {} other.o -o $PROGRAM'"
        how = how_it_failed(done.returncode, done.stderr, done.stdout)
        return f"Linking failed: {how}{'' if self.command else advice}"

    def _command(self, files: Sequence[Path], program: Path) -> list[str | Path]:
        if self.command is None:
            return [llvm_tools.clang_path(), *files, "-o", program, *self.libraries]
        text = self.command.replace("{}", " ".join(shlex.quote(str(path)) for path in files))
        return ["/bin/sh", "-c", with_report(text) if self.region else text]


# Whole programs: all sources in one module, of which is kept only what is called from outside.

_SECONDS = 600
_PUBLIC_NAMES = ("--defined-only", "--extern-only", "--just-symbol-name")


def merge_program(
    inputs: Sequence[Input],
    output: Path,
    options: Sequence[str],
    keep: Sequence[str],
    read: Callable[[Path], ObjectFile] = read_object,
) -> Input:
    """Makes one module of sources, as for link-time optimisation.

    Everything but what is kept becomes local to the module, and goes if nothing needs it. So what
    is linked with it must not call anything else of it.

    Args:
        inputs: The sources.
        output: The bitcode file to be written.
        options: The user's options of clang.
        keep: The functions and variables that others may refer to, such as ``main``.
        read: Reads the object files of the sources, as that of an objective does.

    Raises:
        BenchmarkInitError: If something does not compile or link. The text says why.
        ValueError: If the program does not define what is to be kept.
        OSError: If the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        units, apart = [], []
        for number, each in enumerate(inputs):
            compilation = Compilation(llvm_tools.clang_path(), each.path, tuple(options))
            unit, made = folder / f"{number}.bc", folder / f"{number}.o"
            run_tool(compilation.command(made), _SECONDS)
            apart.append(read(made))
            if not compilation.is_ir:
                run_tool(compilation.unit_command(unit), _SECONDS)
            units.append(each.path if compilation.is_ir else unit)
        linked = folder / "linked.bc"
        link(units, linked, _SECONDS)
        _check_defined(linked, keep)
        public = f"-internalize-public-api-list={','.join(keep)}"
        passes = "-passes=internalize,globaldce"
        run_tool([llvm_tools.opt_path(), passes, public, linked, "-o", output], _SECONDS)
    is_for_size = all(each.is_for_size or each.path.suffix not in IR_SUFFIXES for each in inputs)
    check, validator = None, None
    if len(inputs) == 1:
        check, validator = inputs[0].check, inputs[0].validator
    return Input(output.stem, output, check, is_for_size, tuple(apart), validator)


def _check_defined(module: Path, keep: Sequence[str]) -> None:
    names = run_tool([llvm_tools.tool_path("llvm-nm"), *_PUBLIC_NAMES, module], _SECONDS)
    defined = set(names.decode(errors="replace").split())
    if missing := [name for name in keep if name not in defined]:
        raise ValueError(
            f"The program does not define {' and '.join(missing)}. Name with --keep what is called "
            "from outside of it"
        )
