"""Compares ``compiler-gym-cc`` with clang: only object files may differ, and only by being smaller.

Each command runs in a new folder by both. Exit codes, output, and all files have to be equal.
"""

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import traceback
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from compiler_gym.cli import compiler_wrapper, smaller_object  # noqa: F401
from compiler_gym.cli.project_build import compilers
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from tests.cli import loaded_search  # noqa: F401 - once for all copies of this process.

_UNIT = """
struct list { struct list *next; int value; };
static struct list *find(struct list *it, int value) {
  while (it && it->value != value) it = it->next;
  return it;
}
int has(struct list *it, int a, int b) { return find(it, a) != 0 && find(it, b) != 0; }
int sum(struct list *it) {
  int t = 0;
  for (; it; it = it->next) if (it->value > 3) t += it->value;
  return t;
}
int both(struct list *a, struct list *b) { return sum(a) + sum(b) + has(a, 1, 2) * has(b, 3, 4); }
"""
_FILES = {
    "unit.c": _UNIT,
    "unit.cc": 'extern "C" {' + _UNIT + "}\nint count(int x) { return x * 3; }\n",
    "unit.i": _UNIT,
    "unit.h": "#define K 7\n",
    "a b/q.c": '#include "../unit.h"\n' + _UNIT.replace("> 3", "> K"),
    "needs.c": _UNIT.replace("> 3", "> K"),
    "caf\udce9.c": _UNIT,
    "wrong.c": "int f( {\n",
    "warns.c": _UNIT + "int f(int x) { if (x = 1) return 2; return 3; }\n",
    "frame.c": _UNIT + "void sink(char *);\nvoid big(void) { char room[5000]; sink(room); }\n",
    "attr.c": _UNIT
    + 'int old(int) __attribute__((warning("no longer used")));\n'
    + "int f(int x) { return x > 5 ? old(x) : x; }\n",
    "pragma.c": _UNIT
    + "int g(int);\nint f(int n) {\n  int t = 0;\n#pragma clang loop vectorize(enable)\n"
    + "  for (int i = 0; i < n; i++) t += g(i);\n  return t;\n}\n",
    "asm.c": _UNIT
    + 'int f(int n) { __asm__ volatile(".warning \\"look\\"" : "+r"(n)); return n; }\n',
    "bad_asm.c": _UNIT + 'int f(int n) { __asm__ volatile("nonsense" : "+r"(n)); return n; }\n',
    "blob.c": _UNIT + '__asm__(".globl blob\\nblob:\\n.incbin \\"unit.h\\"\\n");\n',
    "where.c": _UNIT + 'const char *where(void) { return __FILE__ "," __BASE_FILE__; }\n',
    "when.c": _UNIT + "const char *when(void) { return __DATE__; }\n",
    "probe.c": "int f(int x) { return x * 3; }\n",
    "conftest.c": _UNIT,
    "code.s": ".globl f\nf: ret\n",
    "code.S": "#define R ret\n.globl f\nf: R\n",
    "main.c": "int main(void) { return 0; }\n",
    "module.ll": "define i32 @f(i32 %x) { ret i32 %x }\n",
    "flags": "-MD -MP\n-DX='a b'\n",
    "all_flags": "-Oz -c unit.c -o unit.o",
    "nested": "-Oz @flags",
    "split": "-g -gsplit-dwarf",
    "lto": "-flto",
    "profile": "--coverage",
    "own.cfg": "-fPIC\n-MMD",
}

# The search makes these smaller. Most have the same code, so that one search is enough.
_SMALLER = """
-Oz -c unit.c
-Oz -c unit.c -o unit.o
-Oz -c unit.c -ounit.o
-Oz -c unit.c --output=b.o
-Oz -c unit.c --output b.o
-Oz -c unit.c -o ./out/../b.o
-Oz -c unit.c -o out/unit.o
-Oz -c ./unit.c
-O2 -c -x c -Oz -- unit.c
-Oz -c unit.c -o old.o
-Oz -c unit.c -o linked.o
-Oz -c unit.c -o symbolic.o
-Oz -c unit.c -o readonly.o
-Oz -c unit.c -o "a b/c d.o"
-Oz -c unit.c -o caf\udce9.o
-Oz -c unit.c -o .hidden
-Oz -c unit.c -o noextension
-Oz -c unit.c -o -dash.o
-Oz -c unit.c -MD
-Oz -c unit.c -MD -MP -MF x.d -MT target
-Oz -c unit.c -MD -MQ 'a$b' -o out/unit.o
-Oz -c unit.c -MMD -MFx.d
-Oz -c unit.c -MD -MF -
-Oz -c unit.c -MJ db.json
-Oz -c unit.c -MJdb.json -o out/unit.o
-Oz -c unit.c -save-stats -ftime-trace --serialize-diagnostics x.dia
-Oz -c unit.c -save-stats=obj -o out/unit.o
-Oz -c unit.c -v -H -pipe -lm
-Oz -c unit.c -include unit.h -imacros unit.h -I. -iquote . -isystem out -DX -UX -D 'Y="a b"'
-Oz -c unit.c -g
-Oz -c unit.cc
-Oz -c unit.c @flags
@all_flags
-Oz -c unit.c -fno-integrated-cc1 -fno-caret-diagnostics -ferror-limit=3
CC_PRINT_OPTIONS=1 CC_PRINT_OPTIONS_FILE=options.txt -Oz -c unit.c
CC_PRINT_PROC_STAT=1 CC_PRINT_PROC_STAT_FILE=usage.csv -Oz -c unit.c
CCC_OVERRIDE_OPTIONS='x-g +-Oz' -c unit.c -O2 -g
CPATH=out -Oz -c unit.c
umask=077 -Oz -c unit.c
umask=0 -Oz -c unit.c -o old.o
"""

# These are searched, too, here with no evaluation.
_SEARCHED = """
-Oz -c caf\udce9.c
-Oz -c "a b/q.c"
-Oz -c unit.c -Wp,-MMD,x.d
-Oz -c unit.c -Wp,-MD,x.d,-MT,target
-Oz -c unit.c -Wp,-MD,x.d -Wp,-MT,target -Wp,-MP
-Oz -c needs.c -include unit.h -MD
-Oz -c unit.c -Wall -Wextra -pedantic -Wno-unused -Wno-everything
-Oz -c where.c -g -fdebug-prefix-map=.=/x -ffile-prefix-map=a=b
-Oz -c unit.c -fPIC -ffunction-sections -fdata-sections
-Os -c unit.c
-Oz -c unit.c -m32
-Oz -c unit.c --target=riscv32-unknown-elf -ffreestanding
-Oz -c unit.i
-Oz -c -x cpp-output unit.i
-Oz -c -x c++ unit.c
-Oz -c unit.c --config=./own.cfg
-Oz -c unit.c -Xclang -fno-builtin -mllvm -inline-threshold=0
-Oz -c unit.c -std=gnu89 -Wdeclaration-after-statement
-Oz -c warns.c
-Oz -c frame.c -Wframe-larger-than=1000
-Oz -c attr.c
-Oz -c pragma.c
-Oz -c blob.c
-Oz -c when.c
-Oz -c unit.c -Wunknown-option
CC_LOG_DIAGNOSTICS=1 CC_LOG_DIAGNOSTICS_FILE=log.txt -Oz -c warns.c
CC_PRINT_HEADERS=1 CC_PRINT_HEADERS_FILE=headers.txt -Oz -c needs.c -include unit.h
SOURCE_DATE_EPOCH=0 -Oz -c when.c
"""

# clang's object files are left as they are.
_OF_CLANG = """
-Oz -c probe.c
-Oz -c conftest.c
-Oz -c unit.c -o dangling.o
-Oz -c unit.c -frecord-command-line
-Oz -c unit.c -g -grecord-command-line
-Oz -c unit.c -fstack-usage
-Oz -c unit.c -coverage
-Oz -c unit.c --coverage -o out/unit.o
-Oz -c unit.c -g -gsplit-dwarf
-Oz -c unit.c -fsave-optimization-record
-Oz -c unit.c -foptimization-record-file=x.yaml
-Oz -c unit.c -save-temps
-Oz -c unit.c -save-temps=obj -o out/unit.o
-Oz -c unit.c -fprofile-generate
-Oz -c unit.c -fprofile-instr-generate -fcoverage-mapping
-Oz -c unit.c -fsanitize=undefined
-Oz -c unit.c -flto
-Oz -c unit.c -flto=thin
-Oz -c unit.c -ffat-lto-objects -flto
-Oz -c unit.c -emit-llvm
-Oz -c unit.c -fembed-bitcode
-Oz -c unit.c -no-integrated-as
-Oz -c unit.c -mllvm -stats
-Oz -c unit.c -mllvm -info-output-file=info.txt -mllvm -stats
-Oz -c unit.c -Xclang -emit-llvm-bc
-Oz -c unit.c -Xclang -fno-temp-file -o linked.o
-Oz -c unit.c -fmodules -fmodules-cache-path=modules
-Oz -c unit.c -o -
-Oz -c unit.c -o /dev/null
-Oz -c unit.c -o pipe.o
-Oz -c unit.c -working-directory out
-Oz -c out/../unit.c -working-directory .
-Oz -c unit.c @split
-Oz -c unit.c @lto
-Oz -c unit.c @profile
-Oz -c unit.c @nested
-Oz -c unit.c @none
-c unit.c
-O2 -c unit.c -o unit.o
-Oz -O2 -c unit.c
-Oz -O0 -c unit.c
-O -c unit.c
-Oz -E unit.c
-Oz -E unit.c -o unit.txt
-Oz -S unit.c
-Oz -M unit.c
-Oz -MM unit.c -MF x.d
-Oz -fsyntax-only warns.c
-Oz --analyze unit.c
-Oz main.c -o program
-Oz main.c unit.c -o program
-Oz -shared -fPIC unit.c -o library.so
-Oz -r unit.c -o partial.o
-Oz -c unit.c main.c
-Oz -c unit.c main.c -o both.o
-Oz -c code.s
-Oz -c code.S
-Oz -c module.ll
-Oz -c -x c -
-Oz -c -x c /dev/stdin
-Oz -c -x c /dev/stdin -o x.o
-Oz -c unit.c -imacros /dev/stdin
-Oz -x c-header unit.h -o x.pch
-Oz -c wrong.c
-Oz -c wrong.c -MD
-Oz -c warns.c -Werror
-Oz -c warns.c -Werror -o old.o
-Oz -c frame.c -Wframe-larger-than=1000 -Werror
-Oz -c attr.c -Werror
-Oz -c pragma.c -Werror
-Oz -c asm.c -Werror
-Oz -c bad_asm.c
-Oz -c needs.c
-Oz -c none.c
-Oz -c
-Oz -c unit.c -o
-Oz -c unit.c -o none/unit.o
-Oz -c unit.c -o out
-Oz -c unit.c -MD -MF none/x.d
-Oz -c unit.c --unknown-option
-Oz -c unit.c -std=c99999
-Oz -c unit.c --target=nonsense
-Oz -c unit.c -###
--version
-dumpmachine
-print-search-dirs
-print-resource-dir

-cc1 -emit-obj unit.c -o unit.o
-cc1as code.s -o code.o
"""

# With process substitution, named pipes and redirections.
_SHELL = """
$CC -Oz -c unit.c -include <(echo '#define K 7') -o x.o
$CC -Oz -x c -c <(cat unit.c) -o x.o
$CC -Oz -c unit.c @<(echo -DX=1 -g)
(cat unit.c > pipe.c &) ; $CC -Oz -c pipe.c -o x.o
$CC -Oz -x c -c /dev/fd/3 -o x.o 3< unit.c
cat unit.c | $CC -Oz -x c -c - -o x.o
$CC -Oz -c unit.c -o /dev/stdout | cat > x.o
$CC -Oz -c unit.c -o - | wc -c
$CC --help | head -1
"""

_TEMPORARY = re.compile(rb"/tmp/[\w.+-]+-[0-9a-f]{6}\b")
_VOLATILE = ("usage.csv", "unit.json", "x.pch")


def lines(text):
    return text[1:-1].split("\n")


@pytest.fixture(name="place", scope="module")
def fixture_place(tmp_path_factory):
    """A folder for all commands, because its path is in some files, and one cache."""
    return tmp_path_factory.mktemp("parity")


@pytest.fixture(name="folder")
def fixture_folder(environment, place, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(place / "cache"))
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "1")
    monkeypatch.setenv("COMPILER_GYM_MEMORY", "0")
    monkeypatch.setenv("COMPILER_GYM_LOG", str(place / "log"))
    return place / "work"


def make_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "out").mkdir()
    (folder / "a b").mkdir()
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    for name in ("old.o", "linked.o", "target.o", "readonly.o"):
        (folder / name).write_text("old")
    (folder / "readonly.o").chmod(0o444)
    (folder / "backup.o").hardlink_to(folder / "linked.o")
    (folder / "symbolic.o").symlink_to("target.o")
    (folder / "dangling.o").symlink_to("nowhere.o")
    os.mkfifo(folder / "pipe.c")
    os.mkfifo(folder / "pipe.o")


def contents(folder):
    """Kind, mode, links and content of each file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = None
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode) and path.name not in _VOLATILE:
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_nlink, content)
    return found


def run(folder, program, words, variables):
    """Runs a program, or a function in a copy of this process. Returns its code and output."""
    make_folder(folder)
    mask = int(variables.get("umask", "022"), 8)
    with ExitStack() as stack:
        files = [stack.enter_context((folder.parent / name).open("w+b")) for name in ("1", "2")]
        source = stack.enter_context((folder / "unit.c").open("rb"))
        # A pipe with nobody at its end would block.
        stack.callback(os.close, os.open(folder / "pipe.o", os.O_RDONLY | os.O_NONBLOCK))
        pid = os.fork()
        if pid == 0:
            try:
                for number, file in enumerate((source, *files)):
                    os.dup2(file.fileno(), number)
                os.chdir(folder)
                os.umask(mask)
                os.environ.update(variables)
                if isinstance(program, str):
                    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                    os.execv(program, [program, *words])
                os._exit(program(words))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(99)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output = [_TEMPORARY.sub(b"/tmp/x", Path(file.name).read_bytes()) for file in files]
    return code, output, contents(folder)


def wrapper(words):
    """Runs the wrapper in a copied process."""
    with open(2, "w", closefd=False) as sys.stderr:
        return compiler_wrapper.main("clang", words)


def compare(folder, line):
    """Runs clang and the wrapper. Returns the kind in the log, and whether an object is smaller."""
    variables, words = parsed(line)
    code, output, files = run(folder, str(llvm_tools.clang_path()), words, variables)
    own_code, own_output, own_files = run(folder, wrapper, words, variables)
    assert own_code == code
    assert own_output == output
    assert own_files.keys() == files.keys()
    different = [name for name in files if own_files[name] != files[name]]
    for name in different:
        assert own_files[name][:2] == files[name][:2], name
        assert_smaller(files[name][2], own_files[name][2])
    last = (folder.parent / "log").read_bytes().splitlines()[-1]
    return last.split(b"\t")[0].decode(), bool(different)


@cache
def assert_smaller(*contents):
    """Asserts that an object file has less code than clang's, and the same interface."""
    with ExitStack() as stack:
        files = [stack.enter_context(NamedTemporaryFile(suffix=".o")) for _ in contents]
        for file, content in zip(files, contents, strict=True):
            file.write(content)
            file.flush()
        of_clang, own = [interface_of(Path(file.name)) for file in files]
    assert own[0] < of_clang[0] and own[1:] == of_clang[1:]


def interface_of(path):
    """Returns the size of an object file, its symbols, and the names of source files in it."""
    nm = [llvm_tools.tool_path("llvm-nm"), "--format=just-symbols", "--extern-only", path]
    dump = [llvm_tools.tool_path("llvm-readelf"), "--symbols", "--string-dump=.comment", path]
    files = [
        line.split()[4:] for line in subprocess.check_output(dump).splitlines() if b"FILE" in line
    ]
    return read_object(path).all, subprocess.check_output(nm), files


def parsed(line):
    """Returns the variables of a line, and the other words."""
    words = shlex.split(line)
    count = 0
    while count < len(words) and re.match(r"\w+=", words[count]):
        count += 1
    return dict(word.split("=", 1) for word in words[:count]), words[count:]


@pytest.mark.parametrize("line", lines(_SMALLER))
def test_smaller_object_files(folder, line):
    kind, is_smaller = compare(folder, line)
    assert kind in ("search", "kept") and is_smaller


@pytest.mark.parametrize("line", lines(_SEARCHED))
def test_searched_object_files(folder, line, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "0")
    kind, _ = compare(folder, line)
    assert kind in ("search", "kept")


@pytest.mark.parametrize("line", lines(_OF_CLANG))
def test_commands_of_clang(folder, line):
    assert compare(folder, line) == ("clang", False)


@pytest.mark.parametrize("line", lines(_SHELL))
def test_commands_of_a_shell(folder, line):
    def shell(compiler):
        script = folder.parent / "shell"
        script.write_text(f"#!/bin/bash\nCC={shlex.quote(compiler)}\n{line}\n")
        script.chmod(0o755)
        return str(script)

    expected = run(folder, shell(str(llvm_tools.clang_path())), [], {})
    assert run(folder, shell(compilers()["CC"]), [], {}) == expected
