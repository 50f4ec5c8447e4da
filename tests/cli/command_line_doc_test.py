"""Each command and flag that docs/command-line.md names exists, and each command is there."""

import re
import subprocess
import sys

import pytest

from compiler_gym.cli.app import COMMANDS, program_command
from compiler_gym.util.runfiles_path import runfiles_path

TEXT = runfiles_path("docs/command-line.md").read_text()
PROGRAM = program_command()
FORMER = re.findall(r"^\| `python -m (compiler_gym\.bin\.\w+)` \|(.*)\|$", TEXT, re.M)


def command_of(words):
    """The command that the words after ``compiler-gym`` are for."""
    command = PROGRAM
    for word in words:
        commands = getattr(command, "commands", {})
        if word not in commands:
            break
        command = commands[word]
    return command


def options_of(command):
    names = (each.opts + each.secondary_opts for each in command.params)
    return {name for each in names for name in each}


def section(name):
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
    assert found, f"There is no section about {name}"
    return found[1]


def test_all_commands_have_a_section_and_a_row():
    for name in PROGRAM.commands:
        assert f"\n| `{name}` | " in TEXT
        assert f"compiler-gym {name}" in section(name)
        # The build of the site puts the table of options there.
        assert f"\n<!-- options of {name} -->\n" in section(name)


@pytest.mark.parametrize("name", sorted(PROGRAM.commands))
def test_flags_of_a_section_exist(name):
    known = options_of(PROGRAM.commands[name])
    for command in getattr(PROGRAM.commands[name], "commands", {}).values():
        known |= options_of(command)
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section(name)))
    assert flags <= known | {"--"}


def test_command_lines_are_understood():
    lines = re.findall(r"(?:\$ |\| |`)compiler-gym ([^`\n]*)", TEXT)
    assert len(lines) > 12
    for line in lines:
        words = re.split(r"\s+(?:>|\||--)\s", line)[0].split()
        if words[0].startswith("--"):
            continue
        command = command_of(words)
        assert command is not PROGRAM, line
        own = words[: words.index("--")] if "--" in words else words
        for flag in (word for word in own if word.startswith("-") and len(word) > 1):
            assert flag in options_of(command), line


def test_list_of_commands_has_the_summary_of_each():
    summaries = {name: each.summary for name, each in COMMANDS.items()}
    commands = PROGRAM.commands
    assert summaries == {name: commands[name].get_short_help_str(1000) for name in commands}


# The helps of all commands, and the libraries that they have imported.
PRINTING_HELP = """
import sys
from compiler_gym.cli.app import COMMANDS, program_command
def print_help(*words):
    program_command().main([*words, "--help"], prog_name="compiler-gym", standalone_mode=False)
print_help()
imported = [name for name in sys.modules if name.startswith("compiler_gym.cli.")]
assert sorted(imported) == ["compiler_gym.cli.app", "compiler_gym.cli.console"], imported
for name in COMMANDS:
    print_help(name)
slow = {"google.protobuf", "grpc", "gymnasium", "networkx", "numpy", "tabulate"}
assert not slow & set(sys.modules), slow & set(sys.modules)
"""


def test_help_waits_for_no_library_of_environments():
    """Each of them takes longer to import than all else that prints a help."""
    done = subprocess.run(
        [sys.executable, "-c", PRINTING_HELP], capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: compiler-gym") == 1 + len(COMMANDS)


@pytest.mark.parametrize(("module", "flags"), FORMER)
def test_former_programs(run, module, flags):
    text = run("--help", module=module).stdout
    for flag in re.findall(r"`--(\w+)`", flags):
        assert re.search(rf"^  --(\[no\])?{flag}:", text, re.M), flag


def test_all_former_programs_are_named():
    folder = runfiles_path("compiler_gym/bin")
    names = {path.stem for path in folder.glob("*.py")} - {"__init__", "flags_program"}
    assert {module.rpartition(".")[2] for module, _ in FORMER} == names - {
        "measure_pass",
        "vocabularies",
    }
