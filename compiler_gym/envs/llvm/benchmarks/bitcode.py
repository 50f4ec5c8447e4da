"""Makes bitcode files of sources, textual IR and other bitcode, with the LLVM tools."""

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from compiler_gym.errors import BenchmarkInitError, DatasetInitError, EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.thread_pool import map_in_threads

# Compiles a source file to unoptimised bitcode.


class ClangInvocation:
    """The arguments of clang that turn one source into a bitcode file.

    Attributes:
        DEFAULT_COPT: Makes the IR that clang hands to LLVM's ``-O2`` pipeline, before any pass
            has run. (``-O0`` would not do: it forbids to inline and to optimise every function.)
        args: The arguments: options and the source.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds that the compilation may take.
        driver: The clang to use, by default the installed one.
    """

    DEFAULT_COPT: ClassVar[list[str]] = ["-O2", "-Xclang", "-disable-llvm-passes"]

    def __init__(
        self,
        args: Sequence[str | Path],
        system_includes: bool = True,
        timeout: float = 600,
        driver: str | None = None,
    ):
        self.args = [str(arg) for arg in args]
        self.system_includes = system_includes
        self.timeout = timeout
        self.driver = driver

    def command(self, outpath: Path) -> list[str]:
        """Returns the command that writes the bitcode.

        Args:
            outpath: The bitcode file to be written.

        Raises:
            EnvironmentNotSupported: If clang is not installed.
        """
        command = [self.driver or str(llvm_tools.clang_path()), *self.args]
        if not self.system_includes:
            command.append("-nostdlibinc")
        return [*command, "-c", "-emit-llvm", "-o", str(outpath)]

    @classmethod
    def from_c_file(
        cls,
        path: Path,
        copt: Sequence[str] | None = None,
        system_includes: bool = True,
        timeout: float = 600,
    ) -> "ClangInvocation":
        """Makes the invocation that compiles a C or C++ file with the default options.

        Args:
            path: The source; its suffix tells the language.
            copt: Options after the default ones, e.g. ``["-DNDEBUG"]``.
            system_includes: Whether the headers of the system's libraries are searched.
            timeout: Seconds that the compilation may take.
        """
        args = [*cls.DEFAULT_COPT, *(copt or ()), str(path)]
        return cls(args, system_includes=system_includes, timeout=timeout)


SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
"""File names that are compiled as C or C++."""

PROGRAM_SUFFIXES = (".bc", ".ll", *SOURCE_SUFFIXES)
"""File names of programs: bitcode, textual IR and sources."""


def run_tool(
    command: Sequence[str | Path],
    timeout: float,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> bytes:
    """Runs a compiler or another LLVM tool.

    Args:
        command: The tool and its arguments.
        timeout: Seconds after which the tool and its children are killed.
        stdin: What the tool reads.
        cwd: The folder that relative names refer to.
        env: Its environment variables, by default those of this process.

    Returns:
        What the tool wrote to its standard output.

    Raises:
        BenchmarkInitError: If the tool fails. The text holds the end of its messages.
        subprocess.TimeoutExpired: If the time is over.
        OSError: If the tool cannot be started.
    """
    try:
        return run_command(
            command, timeout=timeout, stdin=stdin, cwd=cwd, env=env, text=False
        ).stdout
    except CommandError as error:
        raise BenchmarkInitError(str(error)) from error


def compile_source(invocation: ClangInvocation, outpath: Path, cwd: Path | None = None) -> None:
    """Compiles a source to a bitcode file. Raises as :func:`run_tool` does."""
    run_tool(invocation.command(outpath), timeout=invocation.timeout, cwd=cwd)


# A comment, a string, or the mark of an index up to LLVM 18.
_OLD_IN_RANGE = re.compile(rb';[^\n]*|"[^"]*"|(?<=, )inrange(?= i\d+ )')

_PLACE_OF_ERROR = re.compile(r":(\d+):(\d+): error: (.*)")
_LLVM_VERSION = re.compile(r"LLVM version (\S+)")


def readable_text(text: bytes) -> bytes:
    """Returns textual IR of LLVM 18 and before in a form that later versions read.

    ``inrange`` before an index of a constant address only allows some optimisations, so it becomes
    spaces. All lines and columns stay.
    """
    if b", inrange i" not in text:
        return text
    return _OLD_IN_RANGE.sub(
        lambda found: b" " * len(found[0]) if found[0] == b"inrange" else found[0], text
    )


def assemble(path: Path, outpath: Path, timeout: float) -> None:
    """Makes a bitcode file of textual IR, see :func:`readable_text`.

    Raises:
        BenchmarkInitError: If the text is not valid. The message has the line, the column, and
            advice for the text of an older LLVM.
        Exception: Any other error of :func:`run_tool`.
    """
    command: list[str | Path] = [llvm_tools.llvm_as_path(), "-", "-o", outpath]
    try:
        run_tool(command, timeout, readable_text(path.read_bytes()))
    except BenchmarkInitError as error:
        place = _PLACE_OF_ERROR.search(str(error))
        version = _LLVM_VERSION.search(llvm_tools.tool_version(llvm_tools.llvm_as_path()))
        if place is None or version is None:
            raise
        # The service says the same, see llvm_service/Ir.cc.
        raise BenchmarkInitError(
            f"Cannot parse {path} as textual IR: line {place[1]}, column {place[2]}: {place[3]}. "
            f"Textual IR has to be that of LLVM {version[1]}; for the text of an older LLVM, give "
            "the bitcode that its llvm-as makes, or compile the source again"
        ) from error


def link(paths: Sequence[Path], outpath: Path, timeout: float) -> None:
    """Links bitcode files to one. Raises as :func:`run_tool` does."""
    run_tool([llvm_tools.llvm_link_path(), *paths, "-o", outpath], timeout=timeout)


def inline_mandatory(path: Path, outpath: Path, timeout: float = 300) -> None:
    """Inlines the calls in a bitcode file that even ``clang -O0`` must inline.

    Modules hold copies of what the C++ library has ready. Some of these are not in the library, as
    they must be inlined: without this, such programs link only after a pass has done so.

    Raises:
        Exception: Any error of :func:`run_tool`.
    """
    run_tool([llvm_tools.opt_path(), "-passes=always-inline", path, "-o", outpath], timeout=timeout)


_SIZE_ATTRIBUTES = {"minsize", "optsize"}


def add_attributes(program: bytes, outpath: Path, names: Sequence[str]) -> None:
    """Writes bitcode whose functions all have further attributes, as clang's front end gives them.

    Functions that must not be optimised (``#pragma clang optimize off``) are not marked for size.

    Args:
        program: The bitcode before.
        outpath: The file to be written.
        names: The attributes as textual IR has them, e.g. ``"minsize"``.

    Raises:
        Exception: Any error of :func:`run_tool`.
    """
    attributes = [f"-force-attribute={name}" for name in names]
    command: list[str | Path] = [llvm_tools.opt_path(), "-passes=forceattrs", *attributes]
    try:
        run_tool([*command, "-", "-o", outpath], timeout=300, stdin=program)
    except BenchmarkInitError:
        # opt aborts if a function that must not be optimised is marked for size. The project's own
        # pass leaves such functions out.
        plugin = llvm_tools.own_passes_path()
        if plugin is None or not _SIZE_ATTRIBUTES.issuperset(names):
            raise
        passes = ",".join(f"set-attribute<{name}>" for name in names)
        command = [llvm_tools.opt_path(), f"-load-pass-plugin={plugin}", f"-passes={passes}"]
        run_tool([*command, "-", "-o", outpath], timeout=300, stdin=program)


def check_bounds(path: Path, outpath: Path) -> None:
    """Makes a program end with a message if it leaves an object of known size.

    It has to be linked with ``-fsanitize=undefined``.

    Raises:
        EnvironmentNotSupported: If LLVM is older than version 20.
        Exception: Any error of :func:`run_tool`.
    """
    if llvm_tools.llvm_version() < 20:
        raise EnvironmentNotSupported(
            f"The sanitizer 'undefined' needs LLVM 20 or newer, and this is LLVM "
            f"{llvm_tools.llvm_version()}. Leave it out"
        )
    passes = "-passes=function(bounds-checking<rt-abort>)"
    run_tool([llvm_tools.opt_path(), passes, path, "-o", outpath], timeout=300)


def key_of_bitcode(*parts: str | bytes) -> str:
    """Returns a name for the output of the installed clang: 32 hexadecimal digits.

    Args:
        parts: What else it depends on.

    Raises:
        EnvironmentNotSupported: If clang is not installed.
    """
    key = hashlib.sha256()
    for part in (llvm_tools.tool_version(llvm_tools.clang_path()), *parts):
        key.update(part.encode() if isinstance(part, str) else part)
        key.update(b"\0")
    return key.hexdigest()[:32]


def make_once(path: Path, make: Callable[[Path], None]) -> None:
    """Makes a file unless it is there. Several processes may do so at the same time.

    Args:
        path: The file, whose name says all about its contents. Its folder is made if need be.
        make: Writes it to another path.

    Raises:
        DatasetInitError: There is no place for it.
        Exception: Any error of ``make``.
    """
    if path.is_file():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-")
    except OSError as error:
        raise DatasetInitError(
            f"Cannot keep a program that is compiled: {error}. Set the environment variable "
            "COMPILER_GYM_SITE_DATA to a directory that you can write to"
        ) from error
    # Under a name of its own, and then given its name at once.
    with place as folder:
        new = Path(folder) / path.name
        make(new)
        os.replace(new, path)


def bitcode_made_once(path: Path, name: str, make: Callable[[Path], None]) -> bytes:
    """Returns the contents of a file that is made by tools unless it is there.

    Args:
        path: The file, as for :func:`make_once`.
        name: What messages call it.
        make: Writes it to another path.

    Raises:
        BenchmarkInitError: A tool takes too long.
        Exception: Any other error of :func:`make_once`.
    """
    try:
        make_once(path, make)
    except subprocess.TimeoutExpired as error:
        raise BenchmarkInitError(f"Compiling {name} took more than {error.timeout:g} s") from error
    return path.read_bytes()


def make_bitcode(
    inputs: Sequence[Path | ClangInvocation],
    folder: Path,
    timeout: float,
    cwd: Path | None = None,
) -> Path:
    """Makes one bitcode file of bitcode, textual IR and compilations.

    The inputs are processed in parallel, as many at a time as there are processors.

    Args:
        inputs: At least one ``.bc`` file, ``.ll`` file or compilation.
        folder: A scratch folder for what is made.
        timeout: Seconds for each assembling and for linking; compilations have their own.
        cwd: The folder that relative names in compilations refer to.

    Returns:
        A file in the folder, or the input itself if it is a single ``.bc`` file.

    Raises:
        BenchmarkInitError: If a tool fails.
        subprocess.TimeoutExpired: If a tool takes too long.
    """

    def make(index: int) -> Path:
        source, outpath = inputs[index], folder / f"{index}.bc"
        if isinstance(source, ClangInvocation):
            compile_source(source, outpath, cwd)
        elif source.suffix == ".ll":
            assemble(source, outpath, timeout)
        else:
            return source
        return outpath

    paths = map_in_threads(make, range(len(inputs)))
    if len(paths) == 1:
        return paths[0]
    outpath = folder / "linked.bc"
    link(paths, outpath, timeout)
    return outpath


# The header search list of the host compiler, as options for another compiler.
#
# Not needed with the clang that this package finds, which knows where the headers of the system
# are. Useful with a clang that was built elsewhere.

_TIMEOUT_SECONDS = 30


class HostCompilerFailure(OSError):  # noqa: N818
    """The host compiler cannot be run, or failed."""


class UnableToParseHostCompilerOutput(HostCompilerFailure):
    """The host compiler does not print its header search list as expected."""


def get_system_library_flags(compiler: str | None = None) -> list[str]:
    """Asks the host compiler where it searches for headers.

    Args:
        compiler: The command of a C++ compiler; by default ``$CXX``, else ``c++``.

    Returns:
        ``["-isystem", folder, "-isystem", folder, ...]`` in the order of the search. Asked once
        for each compiler.

    Raises:
        HostCompilerFailure: If the compiler cannot be run, fails, or is not done in 30 seconds.
        UnableToParseHostCompilerOutput: If it does not print a search list.
    """
    return list(_system_library_flags(compiler or os.environ.get("CXX") or "c++"))


@cache
def _system_library_flags(compiler: str) -> tuple[str, ...]:
    command = [*shlex.split(compiler), "-xc++", "-E", "-v", "-"]
    try:
        # The messages that are searched for are translated otherwise.
        reply = run_command(command, _TIMEOUT_SECONDS, env={**os.environ, "LC_ALL": "C"})
    except CommandError as error:
        raise HostCompilerFailure(str(error)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostCompilerFailure(
            f"Cannot run the host compiler '{compiler}': {error}. Set CXX to a C++ compiler"
        ) from error
    flags = []
    for folder in _search_list(reply.stderr, compiler):
        flags += ["-isystem", folder]
    return tuple(flags)


def _search_list(text: str, compiler: str) -> list[str]:
    lines = text.splitlines()
    try:
        start = lines.index("#include <...> search starts here:")
        end = lines.index("End of search list.", start)
    except ValueError:
        raise UnableToParseHostCompilerOutput(
            f"The host compiler '{compiler}' prints no header search list. Set CXX to gcc or clang"
        ) from None
    folders = [
        line.strip().removesuffix(" (framework directory)") for line in lines[start + 1 : end]
    ]
    if not folders:
        raise UnableToParseHostCompilerOutput(
            f"The header search list of the host compiler '{compiler}' is empty"
        )
    return folders
