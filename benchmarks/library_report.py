"""Real libraries, made small: bytes, their own tests, and time, as static and as shared libraries.

Builds LZ4, zlib, Lua, bzip2 and tinyxml2 with ``clang -Oz``, ``clang -Os``, ``compiler-gym-cc
-Oz`` and ``compiler-gym-cc -Oz --one-run``, links each library statically and as a lazily bound
shared library, runs the project's own tests (Lua's release has none: a script with assertions runs
instead) and a benchmark. The sources are those of Debian's source packages: the package manager
needs entries ``deb-src``. Run it with::

    bazel run //benchmarks:library_report
    bazel run //benchmarks:library_report -- lz4 zlib --evaluations 120
    bazel run //benchmarks:library_report -- --evaluations 0  # No search.

Only the times need an idle machine. The first of these commands builds and tests without timing,
and the second times what the first has built::

    bazel run //benchmarks:library_report -- --folder /tmp/libraries --rounds 0
    bazel run //benchmarks:library_report -- --folder /tmp/libraries
"""

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.trial_linking import TrialLinker, trial_linker
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import cache_path
from compiler_gym.util.statistics import compare_paired_runtimes
from compiler_gym.util.tabulate import tabulate

_ROUNDS = 7
# The tests and the program around a library are the same for all that are compared.
_AROUND = ("-O1", "-w")

_LUA = r"""
local t = {}
for i = 1, 200000 do t[i] = (i * 7919) % 100003 end
table.sort(t)
for i = 2, #t do assert(t[i - 1] <= t[i]) end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
assert(fib(31) == 1346269)
local words = {}
for word in ("the quick brown fox "):rep(20000):gmatch("%a+") do
  words[word] = (words[word] or 0) + 1
end
assert(words.fox == 20000 and select("#", table.unpack({1, nil, 3}, 1, 3)) == 3)
assert(not pcall(error, {code = 2}) and string.format("%5.2f|%q", 1 / 3, "a\n") ~= nil)
local co = coroutine.wrap(function(...) for i = 1, select("#", ...) do coroutine.yield(i) end end)
assert(co(1, 2, 3) == 1 and co() == 2 and co() == 3)
"""
_ZLIB = r"""
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "zlib.h"
int main(void) {
  uLong size = 30000000, room = compressBound(size), back = size;
  Bytef *in = malloc(size), *out = malloc(room), *again = malloc(size);
  for (uLong i = 0; i < size; i++) in[i] = "etaoin shrdlu"[(i * i / 7 + i % 11) % 13];
  for (int level = 1; level <= 9; level += 4) {
    uLong packed = room;
    assert(compress2(out, &packed, in, size, level) == Z_OK);
    assert(uncompress(again, &back, out, packed) == Z_OK && !memcmp(in, again, size));
  }
  return crc32(0, in, size) == 0;
}
"""
_XML = r"""
#include <cstdlib>
#include <string>
#include "tinyxml2.h"
int main() {
  std::string text = "<list>";
  for (int i = 0; i < 3000; i++)
    text += "<item id='" + std::to_string(i) + "'>some &lt;text&gt; here<b/></item>";
  text += "</list>";
  for (int i = 0; i < 300; i++) {
    tinyxml2::XMLDocument document;
    if (document.Parse(text.c_str()) != tinyxml2::XML_SUCCESS) return 1;
    tinyxml2::XMLPrinter printer;
    document.Print(&printer);
    if (std::string(printer.CStr()).find("id=\"2999\"") == std::string::npos) return 1;
  }
}
"""
_BZIP2_TEST = (
    "for i in 1 2 3; do $PROGRAM -$i < $SOURCE/sample$i.ref | cmp - $SOURCE/sample$i.bz2 && "
    "$PROGRAM -d < $SOURCE/sample$i.bz2 | cmp - $SOURCE/sample$i.ref || exit 1; done"
)


@dataclass(frozen=True)
class Program:
    """The files linked with a library, and a shell command that runs the result as ``$PROGRAM``.

    Attributes:
        sources: Files of the project, as glob patterns.
        text: A source of ours, in place of these.
        run: The command. ``$SOURCE`` is the folder of the project.
    """

    sources: tuple[str, ...] = ()
    text: str = ""
    run: str = "$PROGRAM"


@dataclass(frozen=True)
class Project:
    """A library.

    Attributes:
        package: Debian's source package.
        sources: Files of the library, as glob patterns.
        left_out: Names of files that the patterns match and that are not part of it.
        flags: Options for all that is compiled.
        libraries: Options for the linker.
        tests: The project's own tests.
        benchmark: What is timed.
    """

    package: str
    sources: tuple[str, ...]
    tests: Program
    benchmark: Program
    left_out: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def is_cxx(self) -> bool:
        return self.sources[0].endswith(".cpp")


PROJECTS = {
    "lz4": Project(
        "lz4",
        ("lib/*.c",),
        Program(("tests/fuzzer.c", "programs/util.c"), run="$PROGRAM -i40 -s1 >$WORK/log 2>&1"),
        Program(
            (
                "programs/bench.c",
                "programs/datagen.c",
                "programs/util.c",
                "programs/lz4cli.c",
                "programs/lz4io.c",
            ),
            run="cat $SOURCE/lib/*.c $SOURCE/doc/*.html > $WORK/in && for i in $(seq 40); do "
            "$PROGRAM -q -9 -f $WORK/in $WORK/out && $PROGRAM -q -d -f $WORK/out $WORK/back && "
            "cmp $WORK/in $WORK/back || exit 1; done",
        ),
        flags=("-Ilib", "-Iprograms", "-DXXH_NAMESPACE=LZ4_"),
    ),
    "zlib": Project(
        "zlib",
        ("*.c",),
        Program(("test/example.c",), run="cd $WORK && $PROGRAM >log"),
        Program(text=_ZLIB),
        flags=("-I.", "-D_LARGEFILE64_SOURCE=1", "-DHAVE_UNISTD_H"),
    ),
    "lua": Project(
        "lua5.4",
        ("src/*.c",),
        Program(("src/lua.c",), run=f"$PROGRAM - <<'END'\n{_LUA}END"),
        Program(("src/lua.c",), run=f"$PROGRAM - <<'END'\n{_LUA}END"),
        left_out=("lua.c", "luac.c"),
        flags=("-Isrc", "-DLUA_USE_LINUX"),
        libraries=("-lm", "-ldl"),
    ),
    "bzip2": Project(
        "bzip2",
        ("[cdhr]*.c", "blocksort.c", "bzlib.c"),
        Program(("bzip2.c",), run=_BZIP2_TEST),
        Program(
            ("bzip2.c",),
            run="cat $SOURCE/*.c $SOURCE/manual.* | $PROGRAM -9 > $WORK/out && "
            "$PROGRAM -d < $WORK/out > /dev/null",
        ),
        left_out=("dlltest.c",),
        flags=("-I.", "-D_FILE_OFFSET_BITS=64"),
    ),
    "tinyxml2": Project(
        "tinyxml2",
        ("tinyxml2.cpp",),
        Program(
            ("xmltest.cpp",),
            run="cp -r $SOURCE/resources $WORK/ && mkdir -p $WORK/resources/out && cd $WORK && "
            "$PROGRAM >log && ! grep -q 'Fail [1-9]' log",
        ),
        Program(text=_XML),
        flags=("-I.",),
    ),
}


def fetch(project: Project) -> Path:
    """Returns the folder of the sources, which are downloaded once."""
    folder = cache_path("library-report") / project.package
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as work:
            command = ["apt-get", "source", "--download-only", "-qq", project.package]
            if subprocess.run(command, cwd=work).returncode:
                sys.exit("apt-get has no sources: add deb-src to its list, and run apt-get update")
            (archive,) = Path(work).glob("*.orig.tar.*")
            unpacked = Path(work) / "unpacked"
            unpacked.mkdir()
            subprocess.run(["tar", "xf", archive, "-C", unpacked], check=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(next(unpacked.iterdir()), folder)
    return folder


@dataclass
class Variant:
    """A library as one compiler makes it.

    Attributes:
        compiler: The words of the compiler, with its level.
        is_shared: Whether it is a shared library.
        folder: Where it is built. What an earlier run has built and tested there is used again.
    """

    project: Project
    source: Path
    compiler: tuple[str, ...]
    is_shared: bool
    folder: Path
    objects: list[Path] = field(default_factory=list)

    @property
    def library(self) -> Path:
        return self.folder / "liblibrary.so"

    @property
    def joined(self) -> Path:
        return self.folder / "joined.o"

    def build(self) -> None:
        """Compiles and tests the library, unless an earlier run has done so in the folder."""
        passed = self.folder / "passed"
        if not passed.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self._compile()
            self.run(self.project.tests)
            self.link(self.project.benchmark)
            passed.touch()

    def _compile(self) -> None:
        """Compiles and links the library."""
        files = (path for each in self.project.sources for path in sorted(self.source.glob(each)))
        for path in files:
            if path.name not in self.project.left_out:
                made = self.folder / f"{path.stem}.o"
                position = ["-fPIC"] if self.is_shared else []
                words = [*self.compiler, *position, *self.project.flags, "-w", "-c", path]
                # compiler-gym-cc is a module of this process's paths.
                paths = {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
                environment = {**os.environ, **paths}
                subprocess.run([*words, "-o", made], cwd=self.source, env=environment, check=True)
                self.objects.append(made)
        if self.is_shared:
            words = ["-shared", "-Wl,-z,lazy", *self.objects, "-o", self.library]
            subprocess.run([_clang(self.project), *words, *self.project.libraries], check=True)
        else:
            joined = ["-r", *self.objects, "-o", self.joined]
            subprocess.run([_trial_linker().lld, *joined], check=True)

    def sizes(self) -> tuple[int, int]:
        """Returns the bytes of code of the library, and all that is loaded of it."""
        if self.is_shared:
            found = read_object(self.library)
            return found.text, found.all
        return read_object(self.joined).text, _trial_linker().size(self.joined).loaded

    def link(self, program: Program) -> Path:
        """Links a program with the library."""
        path = self.folder / ("tests" if program is self.project.tests else "benchmark")
        if not path.exists():
            files = [file for each in program.sources for file in sorted(self.source.glob(each))]
            if program.text:
                text = path.with_suffix(".cpp" if self.project.is_cxx else ".c")
                text.write_text(program.text)
                files = [text]
            library = [self.library] if self.is_shared else self.objects
            words = [*_AROUND, *self.project.flags, *files, *library, f"-Wl,-rpath,{self.folder}"]
            subprocess.run(
                [_clang(self.project), *words, "-Wl,-z,lazy", "-o", path, *self.project.libraries],
                cwd=self.source,
                check=True,
            )
        return path

    def run(self, program: Program) -> float:
        """Runs a program; returns its processor time in seconds. Raises if that fails."""
        path = self.link(program)
        variables = {"PROGRAM": path, "SOURCE": self.source, "WORK": self.folder}
        before = _seconds_of_children()
        subprocess.run(
            ["/bin/sh", "-c", program.run],
            env={**os.environ, **{name: str(value) for name, value in variables.items()}},
            cwd=self.folder,
            check=True,
        )
        return _seconds_of_children() - before


def _seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _trial_linker() -> TrialLinker:
    trial = trial_linker(())
    assert trial is not None, "There is no LLD"
    return trial


def _clang(project: Project) -> str:
    return str(llvm_tools.tool_path("clang++" if project.is_cxx else "clang"))


def _ways(project: Project, evaluations: int) -> dict[str, tuple[str, ...]]:
    """Returns the words of each compiler, with its level; the first is what all compare with."""
    clang = _clang(project)
    name = "cxx" if project.is_cxx else "cc"
    # Runs compiler-gym-cc of this tree.
    script = f"from compiler_gym.cli.compiler_wrapper import {name}; {name}()"
    wrapper = (sys.executable, "-c", script, "-Oz")
    search = {"compiler-gym-cc -Oz": wrapper} if evaluations else {}
    return {
        "clang -Oz": (clang, "-Oz"),
        "clang -Os": (clang, "-Os"),
        **search,
        "compiler-gym-cc -Oz --one-run": (*wrapper, "--one-run"),
    }


def rows_of(
    name: str, is_shared: bool, folder: Path, evaluations: int, rounds: int
) -> list[dict[str, str]]:
    """Builds a library in each way, tests and times them; returns a row for each.

    Args:
        name: The name of a project.
        is_shared: Whether to build a shared library.
        folder: The folder of the builds.
        evaluations: Of the search for each source; 0 for no search.
        rounds: How often the benchmark of each runs; 0 for a table without times.
    """
    project = PROJECTS[name]
    source = fetch(project)
    ways = _ways(project, evaluations)
    kind = "shared" if is_shared else "static"
    variants = {}
    for number, (way, compiler) in enumerate(ways.items()):
        place = folder / f"{name}-{kind}" / str(number)
        variants[way] = Variant(project, source, compiler, is_shared, place)
        variants[way].build()
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, variant in variants.items():
            seconds[way].append(variant.run(project.benchmark))
    sizes = {way: variant.sizes() for way, variant in variants.items()}
    first = next(iter(ways))
    return [
        {
            "library": f"{name}, {kind}",
            "made by": way,
            "code": _with_share(sizes[way][0], sizes[first][0]),
            "loaded": _with_share(sizes[way][1], sizes[first][1]),
            "time / clang -Oz": "1" if way == first else _slowdown(seconds[way], seconds[first]),
            "tests": "passed",
        }
        for way in ways
    ]


def _slowdown(seconds: Sequence[float], before: Sequence[float]) -> str:
    if not seconds:
        return "not timed"
    found = compare_paired_runtimes(seconds, before)
    return f"{found.speedup:.2f} ({found.low:.2f} to {found.high:.2f})"


def _with_share(size: int, before: int) -> str:
    return f"{size}" if size == before else f"{size} ({size / before - 1:+.1%})"


def _markdown(rows: Sequence[dict[str, str]]) -> str:
    return tabulate((each.values() for each in rows), rows[0], "github")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", help=f"of {', '.join(PROJECTS)}; by default all")
    parser.add_argument(
        "--evaluations", type=int, default=40, help="for each source; 0 leaves the search out"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="runs of each benchmark; 0 builds and tests only"
    )
    parser.add_argument(
        "--folder", help="keeps the builds for another run; by default they are removed"
    )
    arguments = parser.parse_args(words)
    os.environ["COMPILER_GYM_EVALUATIONS"] = str(arguments.evaluations)
    rows = []
    with _folder_of_builds(arguments.folder) as builds:
        folder = builds / f"evaluations-{arguments.evaluations}"
        for name in arguments.projects or PROJECTS:
            for is_shared in (False, True):
                made = rows_of(name, is_shared, folder, arguments.evaluations, arguments.rounds)
                print(_markdown(made), flush=True)
                rows += made
    print(_markdown(rows))


@contextlib.contextmanager
def _folder_of_builds(path: str | None) -> Iterator[Path]:
    """Makes the folder of the builds; one without a name is temporary."""
    if path:
        yield Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."), path).absolute()
    else:
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            yield Path(folder)


if __name__ == "__main__":
    main()
