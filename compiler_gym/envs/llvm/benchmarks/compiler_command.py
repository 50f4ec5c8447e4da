"""Takes the command line of a compiler apart, e.g. ``gcc -O2 -DNDEBUG a.c b.c -o prog -lm``."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SOURCE_SUFFIXES = _words(".c .i .cc .cp .cpp .cxx .c++ .C .CPP .ii .ll .bc")
_SOURCE_LANGUAGES = _words("c c++ cpp-output c++-cpp-output ir")

# Options whose value is the next word.
_OPTIONS_WITH_VALUE = _words(
    "-A -B -D -F -I -L -T -U -Xassembler -Xclang -Xlinker -Xpreprocessor -arch -aux-info -dumpbase "
    "-dumpdir -e -framework -idirafter -imacros -include -iprefix -iquote -isysroot -isystem "
    "-iwithprefix -iwithprefixbefore -l -mllvm -rpath -target -u -wrapper -z --param --sysroot "
    "--target"
)
_WITHOUT_CODE = _words("-E -M -MM -fsyntax-only -###")
# What neither compiling to bitcode nor finishing the build should do.
_SIDE_OUTPUTS = _words("-MD -MMD -MP -MG -save-temps -v")
_SIDE_OUTPUTS_WITH_VALUE = _words("-MF -MT -MQ")
_LINK_ONLY = _words("-static -shared -rdynamic -pie -no-pie -nostdlib -nostartfiles -s")
_LINK_ONLY_PREFIXES = ("-L", "-fuse-ld")
# The linker heeds their place among the inputs.
_LINK_INPUT_PREFIXES = ("-l", "-Wl,", "-Xlinker")


@dataclass(frozen=True)
class Source:
    """A file to be compiled.

    Attributes:
        path: As written in the command.
        language: The value of ``-x`` in force, or None if the suffix tells the language.
    """

    path: str
    language: str | None = None


@dataclass(frozen=True)
class CompilerCommand:
    """The parts of a compiler's command line.

    Attributes:
        driver: The compiler, e.g. ``"gcc"``.
        sources: The files to compile, in order; at least one.
        options: Options in order, without the mode, the output and the side outputs.
        link_inputs: Object files, libraries and words for the linker, in order.
        mode: ``"link"``, ``"compile"`` (``-c``) or ``"assembly"`` (``-S``).
        output: The file that the command writes, as ``-o`` says or by default.
    """

    driver: str
    sources: tuple[Source, ...]
    options: tuple[tuple[str, ...], ...]
    link_inputs: tuple[str, ...]
    mode: str
    output: str

    @property
    def is_cxx(self) -> bool:
        """True if the driver links the C++ standard library."""
        return "++" in Path(self.driver).name

    def compile_arguments(self, source: Source) -> list[str]:
        """Returns the arguments that compile one source: its options, then the source.

        They hold no output, no mode and nothing for the linker.
        """
        arguments = [
            word for option in self.options if not _is_link_only(option) for word in option
        ]
        language = ["-x", source.language] if source.language else []
        return [*arguments, *language, source.path]

    def finish_arguments(self, program: str) -> list[str]:
        """Returns the arguments that build the output of the command, save ``-o``, from bitcode.

        Args:
            program: The bitcode file that replaces the sources.
        """
        arguments = [word for option in self.options for word in option]
        mode = {"link": [], "compile": ["-c"], "assembly": ["-S"]}[self.mode]
        libraries = self.link_inputs if self.mode == "link" else ()
        return [*arguments, *mode, program, *libraries]


def parse_compiler_command(command: str | Sequence[str]) -> CompilerCommand:
    """Takes a command line apart.

    Args:
        command: The command as for a shell, or its words.

    Returns:
        Its parts.

    Raises:
        ValueError: If the command is empty, has no source, reads its source from the standard
            input, produces no code, or writes one file for each of several sources.
    """
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if not words:
        raise ValueError("The compiler command is empty")
    text = shlex.join(words)
    if len(words) == 1:
        raise ValueError(f"The compiler command '{text}' has no arguments: it needs a source file")
    return _Parser(words, text).parse()


def _is_link_only(option: tuple[str, ...]) -> bool:
    return option[0] in _LINK_ONLY or option[0].startswith(_LINK_ONLY_PREFIXES)


class _Parser:
    """Goes through the words of a command once."""

    def __init__(self, words: list[str], text: str):
        self.driver = words[0]
        self.words = iter(_expand_response_files(words[1:]))
        self.text = text
        self.language: str | None = None
        self.sources: list[Source] = []
        self.options: list[tuple[str, ...]] = []
        self.link_inputs: list[str] = []
        self.mode = "link"
        self.output: str | None = None

    def parse(self) -> CompilerCommand:
        for word in self.words:
            if word == "-" or not word.startswith("-"):
                self._input(word)
            else:
                self._option(word)
        if not self.sources:
            raise ValueError(
                f"The compiler command '{self.text}' has no source file: it needs a .c, .cc, .cpp, "
                "... file among its arguments"
            )
        if self.mode != "link" and len(self.sources) > 1:
            raise ValueError(
                f"The compiler command '{self.text}' compiles {len(self.sources)} sources to as "
                "many files: use one command for each source, or link them"
            )
        return CompilerCommand(
            driver=self.driver,
            sources=tuple(self.sources),
            options=tuple(self.options),
            link_inputs=tuple(self.link_inputs),
            mode=self.mode,
            output=self.output or self._default_output(),
        )

    def _input(self, word: str) -> None:
        if word == "-":
            raise ValueError(
                f"The compiler command '{self.text}' reads its source from the standard input: "
                "write the source to a file and name the file"
            )
        is_source = (
            self.language in _SOURCE_LANGUAGES
            if self.language
            else Path(word).suffix in _SOURCE_SUFFIXES
        )
        if is_source:
            self.sources.append(Source(word, self.language))
        else:
            self.link_inputs.append(word)

    def _option(self, word: str) -> None:
        if word in _WITHOUT_CODE:
            raise ValueError(
                f"The compiler command '{self.text}' produces no code because of {word}: remove it"
            )
        if word in ("-c", "-S"):
            self.mode = "compile" if word == "-c" else "assembly"
        elif word == "-o":
            self.output = self._value(word)
        elif word.startswith("-o") and not word.startswith("-object"):
            self.output = word.removeprefix("-o")
        elif word.startswith("-x"):
            language = word.removeprefix("-x") or self._value(word)
            self.language = None if language == "none" else language
        elif word in _SIDE_OUTPUTS_WITH_VALUE:
            self._value(word)
        elif word in _SIDE_OUTPUTS or word.startswith(("-save-temps", "-flto")):
            pass
        elif word in _OPTIONS_WITH_VALUE:
            value = self._value(word)
            self._keep_option(word, value)
        else:
            self._keep_option(word)

    def _keep_option(self, *words: str) -> None:
        if words[0].startswith(_LINK_INPUT_PREFIXES):
            self.link_inputs.extend(words)
        else:
            self.options.append(words)

    def _value(self, option: str) -> str:
        try:
            return next(self.words)
        except StopIteration:
            raise ValueError(
                f"The compiler command '{self.text}' ends after {option}, which needs a value"
            ) from None

    def _default_output(self) -> str:
        stem = Path(self.sources[0].path).stem
        return {"link": "a.out", "compile": f"{stem}.o", "assembly": f"{stem}.s"}[self.mode]


def _expand_response_files(words: Sequence[str]) -> list[str]:
    expanded = []
    for word in words:
        if word.startswith("@") and Path(word[1:]).is_file():
            expanded += _expand_response_files(shlex.split(Path(word[1:]).read_text()))
        else:
            expanded.append(word)
    return expanded
