"""The commands that ``compiler-gym-cc`` takes over from clang, and those that it runs instead."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.cli import wrapper_settings as settings
from compiler_gym.envs.llvm.benchmarks.compiler_command import (
    CompilerCommand,
    parse_compiler_command,
)
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.util import llvm_tools

# Commands with these options write other files besides the object file and its dependencies, need
# another compiler, or depend on the exact code.
_STRAIGHT = (
    *("-flto", "-gsplit-dwarf", "-save-temps", "--save-temps", "--coverage", "-ftest-coverage"),
    *("-fprofile", "-fcs-profile", "-ftime", "-fsave-optimization-record", "-fembed-bitcode"),
    *("-fsanitize", "-fmodules", "-fpass-plugin", "-foptimization-record", "-R", "-v", "-###"),
    *("-frecord-command-line", "-grecord-command-line", "-frecord-gcc", "-grecord-gcc"),
    *("--analyze", "-emit-", "-Xarch", "-arch", "--cuda", "-fopenmp-targets", "-fthinlto"),
)
_DEPENDENCIES = ("-MD", "-MMD")
_TO_PREPROCESSOR = ("-Wp,-MD,", "-Wp,-MMD,")

# The probes of build systems; those of zlib's own configure have the number of its process.
_PROBES = re.compile(
    r"conftest|CMakeScratch|CMakeTmp|CompilerIdC|cmTC_|meson-private|\bztest\d+\.c$"
)

# Options that name outputs, with a value in a word of its own and without one.
_OUTPUTS_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ")
_OUTPUTS = (*_OUTPUTS_WITH_VALUE, "-MD", "-MMD", "-MP", "-Wp,-M")


class NotForSizeError(Exception):
    """A command is left to clang. The text has the reason."""


def command_for_size(driver: str, words: Sequence[str]) -> CompilerCommand:
    """Returns the command, if it compiles one source for size.

    Raises:
        NotForSizeError: If it does something else. The text has the reason.
    """
    if "-c" not in words:
        raise NotForSizeError("no -c")
    if straight := [word for word in words if word.startswith(_STRAIGHT)]:
        raise NotForSizeError(straight[0])
    try:
        command = parse_compiler_command([driver, *words])
    except (ValueError, OSError) as error:
        raise NotForSizeError("no single source") from error
    source = command.sources[0].path
    if command.mode != "compile" or command.link_inputs:
        raise NotForSizeError("more than a source")
    if _PROBES.search(source):
        raise NotForSizeError("probe of a build system")
    output = Path(command.output)
    if output.exists() and not output.is_file():
        raise NotForSizeError("the output is not a file")
    levels = [word for (word, *_) in command.options if word.startswith("-O")]
    if settings.level() or (levels[-1:] and levels[-1] in settings.LEVELS):
        return command
    raise NotForSizeError("neither -Os nor -Oz")


def options_of(command: CompilerCommand) -> list[str]:
    """Returns the options without the source, and with the expected level."""
    wanted = settings.level()
    options = [each for each in command.options if not (wanted and each[0].startswith("-O"))]
    language = command.sources[0].language
    words = [word for option in options for word in option if not word.startswith(_TO_PREPROCESSOR)]
    return [*([wanted] if wanted else []), *words, *(["-x", language] if language else [])]


def bitcode_command(
    clang: Path, command: CompilerCommand, words: Sequence[str], bitcode: Path
) -> list[str]:
    """Returns the command that makes bitcode in place of the object file."""
    kept, rest = [], iter(words)
    for word in rest:
        if word == "-o":
            next(rest, None)
        elif word.startswith(_TO_PREPROCESSOR):
            _, option, file = word.split(",", 2)
            kept += [option, "-MF", file]
        elif not word.startswith("-o") or word.startswith("-object"):
            kept.append(word)
    if any(word in _DEPENDENCIES for word in kept):
        # By default, both names come from the output.
        if not any(word.startswith("-MF") for word in kept):
            kept += ["-MF", str(Path(command.output).with_suffix(".d"))]
        if not any(word.startswith(("-MT", "-MQ")) for word in words):
            kept += ["-MQ", command.output]
    if sys.stderr.isatty():
        kept.append("-fcolor-diagnostics")
    level = filter(None, [settings.level()])
    stop = ["-Xclang", "-disable-llvm-passes", "-emit-llvm", "-o", str(bitcode)]
    return [str(clang), *kept, *level, *stop]


def compilation_of(clang: Path, command: CompilerCommand) -> Compilation:
    """Returns the compilation of the source of a command, which prints no warnings."""
    source = Path(command.sources[0].path)
    options, plugin = (*options_of(command), "-w"), llvm_tools.own_passes_path()
    return Compilation(clang, source, options, plugin, settings.limits())


def without_outputs(words: Sequence[str]) -> list[str]:
    """Returns the arguments of a compiler without those that name its outputs."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in _OUTPUTS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith(_OUTPUTS) or word.startswith("-object"):
            kept.append(word)
    return kept
