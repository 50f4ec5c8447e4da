"""Takes command lines of gcc, and of compilers like it, apart.

The interface is that of the module of this name by David Malcolm, which programs use. To make
bitcode of what a command compiles use
:func:`compiler_gym.envs.llvm.make_benchmark_from_command_line`.
"""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SOURCE_SUFFIXES = _words(
    ".c .i .ii .m .mi .mm .cc .cp .cxx .cpp .CPP .c++ .C .s .S .sx .f .for .f90 .f95 .go .d"
)

# Options whose value is the next word, but for those of macros and include paths.
_OPTIONS_WITH_VALUE = _words(
    "-A -B -F -L -MF -MQ -MT -T -U -Xassembler -Xlinker -Xpreprocessor -arch -aux-info -auxbase "
    "-auxbase-strip -dumpbase -dumpdir -e -framework -idirafter -imacros -imultilib -include "
    "-iprefix -iquote -isysroot -isystem -iwithprefix -iwithprefixbefore -l -o -target -u -wrapper "
    "-x -z --param --sysroot"
)


def cmdline_to_argv(cmdline: str) -> list[str]:
    """Splits a command line that is written as for a shell into words.

    Raises:
        ValueError: Quotes do not match.
    """
    return shlex.split(cmdline)


class GccInvocation:
    """A command line of gcc, taken apart.

    Args:
        argv: Its words, the first of which is the program.

    Attributes:
        argv: The same.
        executable: The program, as written.
        progname: Its name without the folder.
        sources: The source files, in order.
        defines: What ``-D`` defines, e.g. ``"NDEBUG"`` and ``"SIZE=3"``.
        includepaths: The folders of ``-I``.
        otherargs: All other words, in order.

    Raises:
        ValueError: If there are no words, or the last lacks its value.
    """

    def __init__(self, argv: Sequence[str]):
        if not argv:
            raise ValueError("A command line has at least the name of a program")
        self.argv = list(argv)
        self.executable = self.argv[0]
        self.progname = PurePath(self.executable).name
        self.sources: list[str] = []
        self.defines: list[str] = []
        self.includepaths: list[str] = []
        self.otherargs: list[str] = []
        words = iter(self.argv[1:])
        for word in words:
            self._take(word, words)

    @classmethod
    def from_cmdline(cls, cmdline: str) -> "GccInvocation":
        """Takes apart a command line that is written as for a shell.

        Raises:
            ValueError: If it is empty, or quotes do not match.
        """
        return cls(cmdline_to_argv(cmdline))

    def restrict_to_one_source(self, source: str) -> "GccInvocation":
        """Returns the command line with one of the sources in place of all.

        Raises:
            ValueError: If it is not one of the sources.
        """
        if source not in self.sources:
            raise ValueError(f"{source} is not a source of the command: {shlex.join(self.argv)}")
        defines = [f"-D{each}" for each in self.defines]
        includepaths = [f"-I{each}" for each in self.includepaths]
        words = [self.executable, *defines, *includepaths, *self.otherargs, source]
        return type(self)(words)

    def _take(self, word: str, words: Iterator[str]) -> None:
        for option, values in (("-D", self.defines), ("-I", self.includepaths)):
            if word.startswith(option):
                values.append(word.removeprefix(option) or self._value(word, words))
                return
        if word in _OPTIONS_WITH_VALUE:
            self.otherargs += [word, self._value(word, words)]
        elif not word.startswith("-") and PurePath(word).suffix in _SOURCE_SUFFIXES:
            self.sources.append(word)
        else:
            self.otherargs.append(word)

    def _value(self, word: str, words: Iterator[str]) -> str:
        try:
            return next(words)
        except StopIteration:
            raise ValueError(
                f"The command ends after {word}, which needs a value: {shlex.join(self.argv)}"
            ) from None

    def __repr__(self) -> str:
        return (
            f"GccInvocation(executable={self.executable!r}, sources={self.sources}, "
            f"defines={self.defines}, includepaths={self.includepaths}, "
            f"otherargs={self.otherargs})"
        )
