"""cBench: how its programs are run, on small archives of the same shape."""

import subprocess
import warnings

import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark
from compiler_gym.envs.llvm.datasets import CBenchDataset
from compiler_gym.envs.llvm.datasets.cbench import VALIDATORS, CBenchInputs, cbench_recipes

NAME = "benchmark://cbench-v1"

# In the place of all programs: it reads what is there to be read, and writes where it can.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned sum_of(const char *path) {
  FILE *file = fopen(path, "r");
  unsigned sum = 1;
  if (!file) return 0;
  for (int c; (c = fgetc(file)) != EOF;) sum = 31 * sum + c;
  fclose(file);
  return sum;
}
static int write_to(const char *path, unsigned value) {
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  fprintf(file, "%u\n", value);
  return !fclose(file);
}
int main(int argc, char **argv) {
  int repeat = 0;
  unsigned sum = 0;
  FILE *file = fopen("_finfo_dataset", "r");
  if (!file || fscanf(file, "%d", &repeat) != 1 || repeat != 1) return 2;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '/' && !sum_of(argv[i])) return 3;
    sum += argv[i][0] == '/' ? sum_of(argv[i]) : atoi(argv[i]);
  }
  for (int i = 1; i < argc; ++i)
    if (!strncmp(argv[i], "output.", 7) && !write_to(argv[i], sum)) return 4;
  if (!write_to("sorted_output.dat", sum)) return 5;
  printf("%u\n", sum);
  return 0;
}
"""

# The files of the published archive have these names.
INPUTS = {
    f"runtime_data/{folder}/{number}.{suffix}": f"{folder} {number}\n".encode()
    for number in range(1, 21)
    for folder, suffix in [
        ("automotive_qsort_data", "dat"),
        ("automotive_susan_data", "pgm"),
        ("bzip2_data", "bz2"),
        ("consumer_jpeg_data", "jpg"),
        ("consumer_jpeg_data", "ppm"),
        ("consumer_tiff_data", "bw.tif"),
        ("consumer_tiff_data", "nocomp.tif"),
        ("consumer_tiff_data", "tif"),
        ("network_dijkstra_data", "dat"),
        ("network_patricia_data", "udp"),
        ("office_data", "s.txt"),
        ("office_data", "txt"),
        ("telecom_data", "pcm"),
        ("telecom_gsm_data", "au"),
    ]
}
ARCHIVE = CBenchInputs.URLS[0].rpartition("/")[2]


@pytest.fixture(scope="module")
def bitcode(tmp_path_factory):
    source = tmp_path_factory.mktemp("program") / "program.c"
    source.write_text(PROGRAM)
    return make_benchmark(source).proto.program.contents


@pytest.fixture(scope="module")
def env():
    with LlvmEnv() as env:
        yield env


@pytest.fixture
def dataset(env, publish, bitcode, tmp_path):
    """The dataset, without inputs so far."""
    names = [*cbench_recipes(), "adpcm"]
    programs = {f"{name}.bc": bitcode for name in names}
    publish(NAME, programs, "".join(f"{name}\n" for name in names))
    dataset = CBenchDataset(tmp_path)
    env.datasets.add(dataset)
    return dataset


@pytest.fixture
def inputs(publish_archive, monkeypatch):
    """Publishes the inputs."""
    monkeypatch.setattr(CBenchInputs, "SHA256", publish_archive(ARCHIVE, INPUTS))


def test_recipes():
    """Those of the specification: 18 of the 23 programs, with 20 inputs but for two of them."""
    counts = {name: len(recipe.inputs) for name, recipe in cbench_recipes().items()}
    assert len(counts) == 18
    assert not {"adpcm", "ghostscript", "ispell", "lame", "rijndael"} & set(counts)
    assert {counts.pop("bitcount"), counts.pop("stringsearch2")} == {2, 1}
    assert set(counts.values()) == {20}


@pytest.mark.parametrize("recipe", cbench_recipes().values(), ids=lambda recipe: recipe.name)
def test_commands(recipe, tmp_path_factory, bitcode):
    """Each finds its inputs in the archive, and writes the files that it should."""
    data = tmp_path_factory.mktemp("it's data")
    for name, contents in INPUTS.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(contents)
    folder = tmp_path_factory.mktemp("folder")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-w", "program.c", "-o", "a.out"], cwd=folder, check=True)
    (folder / "_finfo_dataset").write_text("1\n")
    printed = []
    for command in recipe.commands(data / "runtime_data"):
        reply = subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)
        printed.append(reply.stdout)
        for name in recipe.files:
            assert (folder / name).read_bytes() == reply.stdout
            (folder / name).unlink()
    assert len(set(printed)) == len(recipe.inputs)


@pytest.mark.parametrize("name", ["bitcount", "qsort?dataset=7"])
def test_runnable_program(env, inputs, dataset, name):
    env.reset(benchmark=f"{NAME}/{name}")
    assert env.benchmark.is_validatable()
    env.multistep(["sroa", "instcombine", "gvn"])
    assert env.observation["Runtime"][0] > 0
    result = env.validate()
    assert result.okay(), result
    assert result.benchmark_semantics_validated


def test_validators(env, inputs, dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path))
    assert list(VALIDATORS) == [f"{NAME}/{name}" for name in cbench_recipes()]
    uri = f"{NAME}/susan"
    assert VALIDATORS[uri] == env.datasets.benchmark(uri).validation_callbacks()
    for unknown in (f"{NAME}/adpcm", "susan"):
        assert unknown not in VALIDATORS
        with pytest.raises(KeyError):
            VALIDATORS[unknown]


def test_files_are_compared(env, inputs, dataset):
    env.reset(benchmark=f"{NAME}/susan?dataset=1")
    (validator,) = [
        each
        for each in env.benchmark.running_callbacks()
        if type(each).__name__ == "ReferenceValidator"
    ]
    assert list(validator.files) == ["output.pgm"]
    (command,) = validator.commands
    assert "/automotive_susan_data/2.pgm " in command


def test_unknown_input(env, inputs, dataset):
    with pytest.raises(ValueError, match="0 to 19"):
        env.reset(benchmark=f"{NAME}/qsort?dataset=20")


def test_program_without_a_recipe(env, inputs, dataset):
    env.reset(benchmark=f"{NAME}/adpcm")
    assert not env.benchmark.is_validatable()
    assert not env.step(env.action_space["sroa"])[2]


def test_without_inputs_programs_can_be_optimised(env, dataset):
    with pytest.warns(UserWarning, match="inputs"):
        env.reset(benchmark=f"{NAME}/qsort")
    assert not env.benchmark.is_validatable()
    assert not env.step(env.action_space["sroa"])[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # It is said once.
        env.reset(benchmark=f"{NAME}/sha")


@pytest.fixture
def other_inputs(publish_archive, monkeypatch):
    digest = publish_archive(ARCHIVE, {"readme.txt": b"nothing"})
    monkeypatch.setattr(CBenchInputs, "SHA256", digest)


def test_archive_of_another_shape(env, other_inputs, dataset):
    with pytest.warns(UserWarning, match="office_data"):
        env.reset(benchmark=f"{NAME}/qsort")
