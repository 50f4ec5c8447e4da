import json
import pickle
import subprocess

import pytest

from compiler_gym.datasets import PARTS
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.envs.llvm.datasets import OpenSourceDataset, ProgramsDataset
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools

NAME = "benchmark://programs-v0"

SOURCES = {
    "src/greet.c": (
        '#include <stdio.h>\n#include "config.h"\n#include "made.h"\n#include "own.h"\n'
        'int main(int n, char** v) { printf("%s %s %d\\n", GREETING, name(), n + MADE + MORE); }\n'
    ),
    "src/name.c": 'const char* name(void) { return "you"; }\n',
    "src/name_test.c": "int main(void) { return 0; }\n",
    "src/headers/own.h": "const char* name(void);\n",
    "src/config.h.in": '#define GREETING "hello"\n',
    "text/input.txt": "some words\n",
    "cxx/words.cpp": (
        "#include <iostream>\n#include <string>\n"
        'int main(int, char** v) { std::string s(v[1]); std::cout << s + "!" << std::endl; }\n'
    ),
    "cxx/broken.cpp": "int broken() { return missing; }\n",
}

PROGRAMS = {
    "greet": {
        "root": "src",
        "sources": ["*.c", "!*_test.c"],
        "include": ["headers"],
        "define": ["MORE=2"],
        "copy": {"config.h": "config.h.in"},
        "write": {"made.h": "#define MADE 40\n"},
        "runs": ["./a.out", "./a.out a b && cat {package}/text/input.txt {data}/extra.txt"],
    },
    "words": {"root": "cxx", "sources": ["words.cpp"], "runs": ["./a.out text"]},
    "broken": {"root": "cxx", "sources": ["broken.cpp"], "runs": ["./a.out"]},
}

EXPECTED = {
    "greet": ["hello you 43\n", "hello you 45\nsome words\nmore\n"],
    "words": ["text!\n"],
    "broken": [""],
}


@pytest.fixture
def make(tmp_path, mirror):
    """Makes a dataset of a package, which the mirror has unless told otherwise."""

    def make(is_there=True):
        file, sha256 = mirror.add("tools", SOURCES, is_there=is_there)
        folder = tmp_path / "it's data"
        facts = []
        for name, program in PROGRAMS.items():
            about = {"name": name, "description": "A program", "license": "MIT"}
            facts.append({**about, "package": "tools", "file": file, "sha256": sha256, **program})
            (folder / name).mkdir(parents=True)
            (folder / name / "extra.txt").write_text("more\n")
            for number, text in enumerate(EXPECTED[name]):
                (folder / name / f"expected-{number}.txt").write_text(text)
        (folder / "programs.json").write_text(json.dumps(facts))
        return ProgramsDataset(tmp_path / "site", folder=folder)

    return make


class UnoptimisedEnv:
    """The part of an environment's interface that validation uses."""

    def __init__(self, benchmark):
        self._contents = benchmark.proto.program.contents

    def write_bitcode(self, path):
        path.write_bytes(self._contents)
        return path


def errors_of(benchmark):
    _, validator = benchmark.validation_callbacks()
    assert isinstance(validator, ProgramValidator)
    return list(validator(UnoptimisedEnv(benchmark)))


def test_lists_need_no_download(make):
    dataset = make(is_there=False)
    assert dataset.size == 3
    assert list(dataset.benchmark_uris()) == [f"{NAME}/{name}" for name in PROGRAMS]
    assert not dataset.installed
    assert f"{NAME}/greet?dataset=1" in dataset
    for uri in "/greet?dataset=2", "/greet?input=0", "/great", "":
        assert NAME + uri not in dataset
    assert dataset.programs["words"].license == "MIT"


def test_programs_print_the_expected_output(make):
    dataset = make()
    for name in "greet", "words":
        program = dataset.benchmark(f"{NAME}/{name}")
        assert errors_of(program) == []
        assert program.proto == pickle.loads(pickle.dumps(dataset)).benchmark(str(program)).proto
    assert dataset.installed
    assert len(list((dataset.site_data_path / "bitcode").iterdir())) == 2


def test_the_run_that_is_measured(make, tmp_path):
    dataset = make()
    config = dataset.benchmark(f"{NAME}/greet?dataset=1").proto.dynamic_config
    run = " ".join(config.run_cmd.argument)
    (tmp_path / "a.out").write_text("#!/bin/sh\necho $# arguments\n")
    (tmp_path / "a.out").chmod(0o755)
    subprocess.run(run, shell=True, cwd=tmp_path, check=True, timeout=250)
    assert (tmp_path / "output.txt").read_text() == "2 arguments\nsome words\nmore\n"
    assert list(config.run_cmd.outfile) == ["output.txt"]
    assert "-lstdc++" in config.build_cmd.argument


def test_wrong_output_is_reported(make):
    dataset = make()
    program = dataset.benchmark(f"{NAME}/words")
    expected = dataset._folder / "words" / "expected-0.txt"
    expected.write_text("other")
    (error,) = errors_of(program)
    assert error.type == "Wrong output"
    assert error.data == {
        "input": "./a.out text",
        "expected": "other",
        "actual": "text!",
        "runs": 5,
    }


def test_unavailable_programs(make):
    dataset = make()
    with pytest.raises(LookupError, match=f"{NAME}/greet"):
        dataset.benchmark(f"{NAME}/great")
    with pytest.raises(ValueError, match="0 to 1"):
        dataset.benchmark(f"{NAME}/greet?dataset=2")
    with pytest.raises(BenchmarkInitError, match="'missing'"):
        dataset.benchmark(f"{NAME}/broken")


def test_bitcode_is_that_of_the_facts(make, monkeypatch):
    dataset = make()
    program = dataset.benchmark(f"{NAME}/words")
    with monkeypatch.context() as patch:
        patch.setattr(llvm_tools, "opt_path", None)  # It is not called again.
        assert dataset.benchmark(f"{NAME}/words").proto == program.proto


def test_the_programs_of_the_release(tmp_path):
    dataset = ProgramsDataset(tmp_path)
    programs = dataset.programs.values()
    assert len(programs) >= 12
    assert list(dataset.programs) == sorted(dataset.programs)
    for program in programs:
        assert program.license and program.description
        assert program.file.endswith(".tar.gz")
        folder = dataset._folder / program.name
        assert sorted(path.name for path in folder.glob("expected-*.txt")) == [
            f"expected-{number}.txt" for number in range(len(program.runs))
        ]
        for file in folder.iterdir():
            is_used = file.name.startswith("expected-") or f"{{data}}/{file.name}" in str(
                program.runs
            )
            assert is_used, file
    folders = {path.name for path in dataset._folder.iterdir() if path.is_dir()}
    assert folders == set(dataset.programs)
    assert not any(tmp_path.iterdir())


def test_programs_are_in_the_parts_of_their_packages(tmp_path):
    programs, packages = ProgramsDataset(tmp_path), OpenSourceDataset(tmp_path).packages
    shared = {
        name: packages[program.package].part
        for name, program in programs.programs.items()
        if program.package in packages
    }
    assert len(shared) > 5
    for name, part in shared.items():
        assert f"{programs.name}/{name}" in list(programs.benchmark_uris(part))
    assert sum(len(list(programs.benchmark_uris(part))) for part in PARTS) == programs.size
