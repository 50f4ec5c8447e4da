"""The jobs of commands of clang."""

import os
from pathlib import Path

import pytest

from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import (
    JobInput,
    NotUnderstoodError,
    has_readable_files,
    jobs_of,
)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    (tmp_path / "unit.c").write_text("int f(int x) { return x * 3; }\n")
    (tmp_path / "known.h").write_text("#define X 1\n")
    return tmp_path


def jobs(folder, text, **environment):
    variables = {**os.environ, **environment}
    return jobs_of(llvm_tools.clang_path(), text.split(), folder, variables)


def job(folder, text, **environment):
    (only,) = jobs(folder, text, **environment)
    return only


def test_compilation(folder):
    (folder / "flags").write_text("-DX='a b' -include known.h")
    (folder / "my.cfg").write_text("-fPIC")
    compilation = job(folder, f"-Oz -c unit.c @flags --config={folder}/my.cfg -ounit.o")
    assert compilation.makes_object and compilation.is_cc1
    assert compilation.inputs == (JobInput("c", "unit.c"),)
    assert (compilation.output, compilation.read_files) == ("unit.o", ("known.h",))
    assert compilation.side_outputs == () and compilation.unknown == ()
    words = [*compilation.words]
    assert words[words.index("-D") + 1] == "X=a b" and "-Oz" in words
    assert "-pic-is-pie" not in words
    assert "-Os" in job(folder, "-Oz -c unit.c", CCC_OVERRIDE_OPTIONS="+-Os").words
    assert sorted(os.listdir(folder)) == ["flags", "known.h", "my.cfg", "unit.c"]


def test_names_are_those_of_the_file_system(folder):
    name = os.fsdecode(b'caf\xe9 "$x\\y\n.c')
    (folder / name).write_text("int x;\n")
    (compilation,) = jobs_of(llvm_tools.clang_path(), ["-c", name], folder)
    assert compilation.inputs == (JobInput("c", name),)
    assert compilation.output == name[:-2] + ".o" and compilation.makes_object


@pytest.mark.parametrize(
    "text",
    [
        *("-c -o -MJx.o -- unit.c", "-c -- -MJx.c", "-c -D -MJx unit.c", "-c -D -MJ unit.c"),
        *("-c -o --serialize-diagnostics unit.c", "-c -I -serialize-diagnostics unit.c"),
    ],
)
def test_names_of_options_that_clang_acts_on_itself(folder, text):
    (folder / "-MJx.c").write_text("int x;\n")
    with pytest.raises(NotUnderstoodError, match=r"try \./-MJ"):
        jobs(folder, text)


def test_side_outputs(folder):
    text = "-c unit.c -MD -fstack-usage -ftime-trace -save-stats -g -gsplit-dwarf -coverage"
    found = job(folder, text, CC_LOG_DIAGNOSTICS="1")
    outputs = {each.option: each.path for each in found.side_outputs}
    assert outputs == {
        "-dependency-file": "unit.d",
        "-stack-usage-file": "unit.su",
        "-ftime-trace=": "unit.json",
        "-stats-file=": "unit.stats",
        "-split-dwarf-output": "unit.dwo",
        "-coverage-notes-file=": str(folder / "unit.gcno"),
        "-coverage-data-file=": str(folder / "unit.gcda"),
        "-diagnostic-log-file": "-",
    }
    assert found.makes_object
    named = {option[0].partition("=")[0] for option in found.options}
    assert named.isdisjoint(each.rstrip("=") for each in outputs) and "-sys-header-deps" in named
    assert named.isdisjoint(("-o", "-x", "-emit-obj", "unit.c"))


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        ("-mllvm -inline-threshold=3 -mllvm -enable-pre=false", ()),
        ("-mllvm -stats", ("-mllvm -stats",)),
        ("-mllvm -info-output-file=x", ("-mllvm -info-output-file=x",)),
        ("-mllvm -ir-dump-directory=x", ("-mllvm -ir-dump-directory=x",)),
        ("-mllvm -some-option=x", ("-mllvm -some-option=x",)),
        ("-Xclang -load -Xclang x.so", ("-load x.so",)),
        ("-fpass-plugin=x.so", ("-fpass-plugin=x.so",)),
        ("-Xclang -fixit", ()),
        ("-Xclang -oother.o", ("-oother.o",)),
        ("-Xclang -o -Xclang other.o", ()),
        ("-Xclang -emit-llvm-bc", ()),
    ],
)
def test_words_that_may_write(folder, options, unknown):
    found = job(folder, f"-c unit.c {options}")
    assert found.unknown == unknown
    assert found.makes_object == options.startswith("-mllvm -inline-threshold=3")


@pytest.mark.parametrize(
    "words",
    [
        *("-c unit.c -MJ known.h", "-c unit.c -MJknown.h", "-c unit.c @response"),
        *("-c unit.c --serialize-diagnostics known.h", "-c unit.c -serialize-diagnostics known.h"),
        *("-c unit.c -MD -MF known.h", "-c unit.c -o known.h", "unit.c -o known.h -save-temps"),
    ],
)
def test_no_file_is_removed(folder, words):
    (folder / "response").write_text("-MJ known.h")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert jobs(folder, words) and jobs(folder, words, CCC_OVERRIDE_OPTIONS="# +-Os")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("option", ["-gen-reproducer", "--gen-reproducer=always"])
def test_no_reproducer_is_written(folder, option):
    before = {*folder.iterdir()}
    assert job(folder, f"-c unit.c {option}", TMPDIR=str(folder)).makes_object
    assert {*folder.iterdir()} == before


def test_archive_is_refused_before_it_is_removed(folder):
    with pytest.raises(NotUnderstoodError, match="emit-static-lib"):
        jobs(folder, "--emit-static-lib unit.c -o known.h")
    assert (folder / "known.h").exists()


def test_other_jobs(folder):
    compilation, link = jobs(folder, "unit.c -lm -o program")
    assert compilation.makes_object and not link.makes_object
    assert link.output == "program" and compilation.output in link.words and "-lm" in link.words
    assert [each.output for each in jobs(folder, "-c unit.c -save-temps")] == [
        *("unit.i", "unit.bc", "unit.s", "unit.o"),
    ]
    assert not any(each.makes_object for each in jobs(folder, "-c unit.c -save-temps"))
    for option in ("-E", "-S", "-fsyntax-only", "-flto -c", "-emit-llvm -c"):
        assert not job(folder, f"{option} unit.c").makes_object
    assert jobs(folder, "--version") == []


def test_wrong_commands(folder):
    with pytest.raises(NotUnderstoodError, match=r"none\.c"):
        jobs(folder, "-c none.c")
    with pytest.raises(NotUnderstoodError, match="-cc1"):
        jobs(folder, "-cc1 unit.c")
    with pytest.raises(NotUnderstoodError, match="does not list its jobs"):
        jobs_of(folder / "none", ["-c", "unit.c"], folder)


def test_files_of_arguments_are_read_repeatedly(folder):
    (folder / "flags").write_text("-DX=1")
    (folder / "nested").write_text("-DX=1 @flags")
    os.mkfifo(folder / "pipe")
    for words, is_readable in (
        (["-c", "unit.c", "@flags", "--config=flags", "--config", str(folder / "flags")], True),
        (["-c", "unit.c"], True),
        (["@nested"], False),
        (["@none"], False),
        (["@pipe"], False),
        (["--config", "pipe"], False),
        (["@/dev/stdin"], False),
    ):
        assert has_readable_files(words, Path(folder)) == is_readable, words
