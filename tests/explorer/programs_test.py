"""Programs given as text: attacks, limits, and an LLVM outside of the folders of the system."""

import re
import shutil
import time
from dataclasses import replace

import pytest

from compiler_gym.envs.llvm import make_benchmark_from_source
from compiler_gym.explorer import commands
from compiler_gym.explorer.commands import Tools
from compiler_gym.explorer.limits import LOCAL, PUBLIC
from compiler_gym.explorer.messages import ExplorerError, Source
from compiler_gym.explorer.sources import make_program
from compiler_gym.util import llvm_tools


@pytest.fixture
def llvm(tmp_path, monkeypatch):
    """The folder of an LLVM with its own headers, as the package compiler_gym_clang is."""
    original = llvm_tools.clang_path().resolve().parents[1]
    folder = tmp_path / "llvm"
    (folder / "bin").mkdir(parents=True)
    for name in ("clang", "llvm-dis"):
        shutil.copy(original / "bin" / name, folder / "bin")
    (resources,) = (original / "lib" / "clang").iterdir()
    headers = f"lib/clang/{resources.name}/include"
    shutil.copytree(original / headers, folder / headers)
    for path in (original / "lib").glob("*.so*"):
        (folder / "lib" / path.name).symlink_to(path.resolve())
    monkeypatch.setenv(llvm_tools.PREFIX_VARIABLE, str(folder))
    return folder


def compile_text(text, language="c", limits=LOCAL):
    return make_program(Source(language=language, text=text, flags=""), Tools(limits))


def fails(text, language="c", limits=PUBLIC):
    """Returns all that a visitor is told about a program that cannot be compiled."""
    with pytest.raises(ExplorerError) as caught:
        compile_text(text, language, limits)
    return caught.value.problem.model_dump_json()


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h"
    path.write_text("int secret_word = unknown_word;\n#define MACRO another_word\n")
    return path


@pytest.mark.parametrize(
    "text",
    [
        '#include "{}"\n',
        "#include <{}>\n",
        "#include <../../../../../../../..{}>\n",
        '#ifdef __OPTIMIZE__\n#include "{}"\n#endif\n',
        '#ifndef __STDC__\n#else\n#include "{}"\nint x = MACRO;\n#endif\n',
        '#inc\\\nlude "{}"\n',
        '%:include "{}"\n',
        '#define NAME "{}"\n#include NAME\n',
        # Text that is preprocessed once has an #include then.
        '#define HASH #\nHASH include "{}"\n',
        '#include_next "{}"\n',
        '#import "{}"\n',
        '#line 1 "{}"\n#include __FILE__\n',
        '#pragma GCC dependency "{}"\n',
        '_Pragma("GCC dependency \\"{}\\"")\n',
        'const char t[] = {{\n#embed "{}"\n}};\n',
        'const char t[] = {{\n#em\\\nbed "{}" limit(9)\n}};\n',
        'const char t[] = {{\n# /* a comment */ embed "{}"\n}};\n',
        '#include "headers.json"\n',
        '#include "/proc/self/environ"\n',
        '#include "/dev/stdin"\n',
    ],
)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_no_file_of_the_server_is_read(secret, text, language):
    told = fails(text.format(secret), language)
    assert "_word" not in told and "redirect" not in told


def test_no_file_of_the_server_is_found(secret):
    for path in (secret, f"/usr/include/../..{secret}", "headers.json", "/etc/passwd"):
        for question in (f'__has_include("{path}")', f'__has_embed("{path}")'):
            compile_text(f"#if {question}\n#error found\n#endif\nint x;\n")


ASSEMBLY = [
    ("c", '__asm__(".incbin \\"{}\\"");\nint x;\n'),
    ("c", '__asm__(".include \\"{}\\"");\nint x;\n'),
    ("c", 'void f(void) {{ __asm__ volatile(".include \\"{}\\"" ::: "memory"); }}\n'),
    ("c", 'int f(void) {{ int x; __asm__(".incbin \\"{}\\"" : "=r"(x)); return x; }}\n'),
    ("c++", 'int f() {{ asm goto(".include \\"{}\\"" :::: out); out: return 1; }}\n'),
    ("ir", 'module asm ".include \\22{}\\22"\n'),
    ("ir", 'define void @f() {{\n  call void asm unwind ".incbin {}", ""()\n ret void }}'),
]


@pytest.mark.parametrize(("language", "text"), ASSEMBLY)
def test_no_assembly_of_strangers_is_read(secret, language, text):
    told = fails(text.format(secret), language)
    assert "without inline assembly" in told and "_word" not in told


def test_a_program_cannot_choose_its_assembly_by_the_time(monkeypatch):
    """It could have none when it is checked, and some when it is compiled a second later."""
    run, outputs = Tools.run, []

    def run_slowly(*arguments):
        if outputs:
            time.sleep(1.1)
        outputs.append(run(*arguments)[0])
        return outputs[-1], b""

    monkeypatch.setattr(Tools, "run", run_slowly)
    compile_text("const char *f(void) { return __TIME__; }\n", limits=PUBLIC)
    checked, _, compiled = (re.findall(rb'c"(\d\d:\d\d:\d\d)', each) for each in outputs)
    assert len(checked) == 1 and checked == compiled


def test_assembly_is_told_from_texts():
    compile_text('const char *a = "asm ", *b = "module asm \\"x\\", \\"";\n', limits=PUBLIC)


@pytest.mark.parametrize(
    ("text", "limits", "problem"),
    [
        (
            "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\nint f() { B(B(B(;))) }\n",
            {"tool_mib": 200, "compile_seconds": 100},
            "it needed more than 200 MiB of memory",
        ),
        (
            "template <int n> struct S { S<n - 1> a; S<n - 2> b; };\n"
            "template <> struct S<0> {}; template <> struct S<-1> {};\n"
            "constexpr long f(long n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\n"
            "S<100> s; constexpr long a = __builtin_constant_p(f(60)) ? f(60) : 1;\n"
            "long b = a;\n#include __FILE__\n",
            {"compile_seconds": 0.001},
            "The compiler took longer than 0.001 s",
        ),
        ("char a[] = {[0 ... 999999] = 1};\n", {}, "it wrote more than 1 MiB to a file"),
        ("#pragma clang __debug crash\n", {}, "The compiler crashed"),
    ],
)
def test_compilers_are_bounded(monkeypatch, text, limits, problem):
    monkeypatch.setattr(commands, "_FILE_MIB", 1)
    language = "c++" if "template" in text else "c"
    told = fails(text, language, replace(PUBLIC, **limits))
    assert problem in told
    assert "/usr" not in told and "/tmp" not in told


def test_errors_have_no_paths_and_a_bounded_length():
    told = fails("#include <vector>\nstd::vector<void> x;\n", "c++")
    assert "line 2: in a header: cannot form a reference to 'void'" in told
    assert "/usr" not in told
    told = fails("".join(f"x{'y' * 2000}{i} z;\n" for i in range(1000)))
    assert len(told) < 40_000


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("c", "#include <stdio.h>\nint main(void) { return puts(__FILE__); }\n"),
        ("c++", "#include <map>\nint f() { return std::map<int, long>{{1, 2}}[1]; }\n"),
        ("ir", "define i32 @f() {\n  ret i32 1\n}\n"),
    ],
)
def test_the_program_is_that_of_make_benchmark_from_source(language, text):
    made = compile_text(text, language)
    wanted = make_benchmark_from_source(text, lang=language)
    assert made.uri == wanted.uri
    assert made.sources == wanted.sources


def test_headers_of_clang(llvm):
    program = compile_text("#include <stddef.h>\n#include <stdio.h>\nsize_t size;\n")
    assert program.proto.program.contents.startswith(b"BC")


def test_a_compiler_that_does_not_start(llvm):
    clang = llvm / "bin" / "clang"
    clang.unlink()
    clang.write_text(f"#!/bin/sh\necho {clang}: cannot open {llvm}/lib/libc.so >&2; exit 127\n")
    clang.chmod(0o755)
    assert '"The compiler failed: clang: cannot open libc.so"' in fails("int x;")


def test_headers_of_the_c_library_beside_clang(llvm):
    folder = llvm / "c-library" / "usr" / "include"
    folder.mkdir(parents=True)
    (folder / "only_here.h").write_text("extern int number;\n")
    compile_text(f'#include "{folder}/only_here.h"\nint f(void) {{ return number; }}\n')


@pytest.mark.parametrize("name", ["notes.h", "lib/notes.h", "c-library/notes.h"])
def test_other_files_beside_clang(llvm, name):
    path = llvm / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("int secret;\n")
    with pytest.raises(ExplorerError, match="#include"):
        compile_text(f'#include "{path}"\n')
