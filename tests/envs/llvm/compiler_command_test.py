import pytest

from compiler_gym.envs.llvm.benchmarks.compiler_command import Source, parse_compiler_command


def test_link_of_several_sources():
    command = parse_compiler_command(
        "gcc -O3 -DNDEBUG -I include a.c lib/b.c helper.o -o prog -Llib -lm -Wl,-z,now"
    )
    assert command.driver == "gcc"
    assert command.sources == (Source("a.c"), Source("lib/b.c"))
    assert command.mode == "link"
    assert command.output == "prog"
    assert command.link_inputs == ("helper.o", "-lm", "-Wl,-z,now")
    assert not command.is_cxx
    assert command.compile_arguments(command.sources[1]) == [
        *("-O3", "-DNDEBUG", "-I", "include"),
        "lib/b.c",
    ]
    assert command.finish_arguments("x.bc") == [
        *("-O3", "-DNDEBUG", "-I", "include", "-Llib"),
        *("x.bc", "helper.o", "-lm", "-Wl,-z,now"),
    ]


@pytest.mark.parametrize(
    ("text", "mode", "output"),
    [
        ("cc a.c", "link", "a.out"),
        ("cc a.c -oprog", "link", "prog"),
        ("cc -c dir/a.c", "compile", "a.o"),
        ("cc -c dir/a.c -o dir/a.o", "compile", "dir/a.o"),
        ("cc -S dir/a.c", "assembly", "a.s"),
    ],
)
def test_mode_and_output(text, mode, output):
    command = parse_compiler_command(text)
    assert (command.mode, command.output) == (mode, output)


def test_compile_mode_leaves_libraries_out():
    command = parse_compiler_command("cc -c a.c -o a.o -lm")
    assert command.finish_arguments("x.bc") == ["-c", "x.bc"]


@pytest.mark.parametrize(
    ("driver", "is_cxx"),
    [("g++", True), ("/usr/bin/clang++-22", True), ("c++", True), ("cc", False)],
)
def test_cxx_drivers(driver, is_cxx):
    assert parse_compiler_command(f"{driver} a.c").is_cxx == is_cxx


def test_values_of_options_are_no_sources():
    command = parse_compiler_command(
        "cc -include pre.c -D x.c -MF deps.c -MD -Xclang opt.c -o out.c a.c"
    )
    assert command.sources == (Source("a.c"),)
    assert command.options == (("-include", "pre.c"), ("-D", "x.c"), ("-Xclang", "opt.c"))
    assert command.output == "out.c"


def test_side_outputs_and_link_time_optimisation_are_left_out():
    command = parse_compiler_command("cc -MMD -MP -MT x -save-temps=obj -flto=thin -g a.c")
    assert command.options == (("-g",),)


def test_language_option():
    command = parse_compiler_command("cc -x c a.txt -xc++ b.txt -x none c.c d.txt")
    assert command.sources == (Source("a.txt", "c"), Source("b.txt", "c++"), Source("c.c"))
    assert command.link_inputs == ("d.txt",)
    assert command.compile_arguments(command.sources[0]) == ["-x", "c", "a.txt"]


def test_list_of_words():
    assert parse_compiler_command(["cc", "a b.c"]).sources == (Source("a b.c"),)


def test_quotes():
    assert parse_compiler_command("cc 'a b.c' -DX='\"y\"'").options == (('-DX="y"',),)


def test_response_file(tmp_path):
    response = tmp_path / "args"
    response.write_text("-DX 'a b.c'\n")
    command = parse_compiler_command(["cc", f"@{response}", "-o", "x"])
    assert command.sources == (Source("a b.c"),)
    assert command.options == (("-DX",),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("gcc", "has no arguments"),
        ("gcc -O2", "no source file"),
        ("gcc a.o -o prog", "no source file"),
        ("gcc -x c -", "standard input"),
        ("gcc -E a.c", "produces no code because of -E"),
        ("gcc -MM a.c", "produces no code because of -MM"),
        ("gcc -fsyntax-only a.c", "produces no code"),
        ("gcc -c a.c b.c", "compiles 2 sources"),
        ("gcc a.c -o", "ends after -o"),
        ("gcc a.c 'b", "No closing quotation"),
    ],
)
def test_malformed_commands(text, message):
    with pytest.raises(ValueError, match=message):
        parse_compiler_command(text)
