"""Whole programs: all sources in one module, of which is kept only what is called from outside."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import link, run_tool
from compiler_gym.tuning.size.compilation import IR_SUFFIXES, Compilation
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.object_file import ObjectFile, read_object

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
            compilation = Compilation(tools.clang_path(), each.path, tuple(options))
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
        run_tool([tools.opt_path(), passes, public, linked, "-o", output], _SECONDS)
    is_for_size = all(each.is_for_size or each.path.suffix not in IR_SUFFIXES for each in inputs)
    check, validator = None, None
    if len(inputs) == 1:
        check, validator = inputs[0].check, inputs[0].validator
    return Input(output.stem, output, check, is_for_size, tuple(apart), validator)


def _check_defined(module: Path, keep: Sequence[str]) -> None:
    names = run_tool([tools.tool_path("llvm-nm"), *_PUBLIC_NAMES, module], _SECONDS)
    defined = set(names.decode(errors="replace").split())
    if missing := [name for name in keep if name not in defined]:
        raise ValueError(
            f"The program does not define {' and '.join(missing)}. Name with --keep what is called "
            "from outside of it"
        )
