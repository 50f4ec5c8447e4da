"""The plugin that makes the code of one run of clang smaller."""

import json
import subprocess
from pathlib import Path

import pytest

from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.one_run import (
    MODELS,
    description,
    model_name,
    models,
    one_run_options,
)
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path

_KERNELS = runfiles_path("compiler_gym/data/kernels-v0")

# A loop, a recursive function, and calls of local functions.
_SOURCE = """
static unsigned mix(unsigned a, unsigned b) {
  for (int i = 0; i < 5; i++) { a = (a ^ (b >> i)) * 2654435761u; b = (b << 7 | b >> 25) + a; }
  return a ^ b;
}
unsigned depth(unsigned n) { return n < 2 ? n : depth(n - 1) + depth(n - 2) * mix(n, n); }
unsigned fold(const unsigned *values, int count) {
  unsigned sum = 0;
  for (int i = 0; i < count; i++) {
    sum += mix(values[i], i);
    if (sum % 3 == 0) sum = mix(sum, values[i * 2]);
  }
  return sum;
}
"""
_MAIN = """
#include <stdio.h>
unsigned fold(const unsigned *values, int count), depth(unsigned n);
int main(void) {
  unsigned values[80];
  for (int i = 0; i < 80; i++) values[i] = i * 7919u;
  printf("%u %u\\n", fold(values, 40), depth(9));
}
"""


def sure_of(kind, *texts, target="x86_64", most=0):
    """Returns a model that expects a gain of some decisions everywhere."""
    tree = {"start": 1, "roots": [], "features": [], "numbers": [], "left": [], "right": []}
    kinds = {name: {"features": [], "choices": []} for name in ("start", "end", "whole", "calls")}
    kinds[kind] |= {
        "choices": [{"text": text, "least": 0.5, **tree} for text in texts],
        "most": most,
    }
    return {"target": target, "about": "a test", **kinds}


@pytest.fixture(name="folder", autouse=True)
def fixture_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fold.c").write_text(_SOURCE)
    Path("main.c").write_text(_MAIN)
    return tmp_path


def clang(*words, model=None):
    """Runs clang with the plugin, and with a model if there is one. Returns what it says."""
    (plugin,) = one_run_options()
    load = ["-Xclang", "-load", "-Xclang", plugin.partition("=")[2], plugin]
    if model is not None:
        Path("model.json").write_text(model if isinstance(model, str) else json.dumps(model))
        load += ["-mllvm", "-oz-model=model.json"]
    return plain(*load, *words)


def plain(*words, **more):
    command = [llvm_tools.clang_path(), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stderr


def contents(name):
    return Path(name).read_bytes()


def code(name, section):
    """Returns the bytes of a section."""
    command = [llvm_tools.tool_path("llvm-objcopy"), f"--dump-section={section}=section", name]
    subprocess.run([*command, "copy"], check=True)
    return contents("section")


def test_shipped_model_saves_code():
    assert "x86_64" in models() and "388 programs" in description("x86_64")
    before = after = 0
    for kernel in ("bitops", "matrix", "graphs", "diff"):
        source = str(_KERNELS / kernel / "program.c")
        plain("-Oz", "-c", source, "-o", "plain.o")
        plain("-Oz", *one_run_options(), "-c", source, "-o", "small.o")
        before += read_object(Path("plain.o")).text
        after += read_object(Path("small.o")).text
    assert after < 0.99 * before


def test_shipped_models_are_in_the_plugin():
    plugin = Path(one_run_options()[0].partition("=")[2]).read_bytes()
    assert models() == ["aarch64", "riscv32", "thumb", "x86_64"]
    for name in models():
        text = (MODELS / f"{name}.json").read_bytes()
        assert json.loads(text)["target"] == name and text in plugin


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("aarch64-linux-gnu", "aarch64"),
        ("arm64-linux-gnu", "aarch64"),
        ("thumbv7em-none-eabi", "thumb"),
        ("thumbv8m.main-none-eabi", "thumb"),
        ("thumbv6m-none-eabi", "thumbv6m"),
        ("thumbv8m.base-none-eabi", "thumbv6m"),
        ("riscv32-unknown-elf", "riscv32"),
    ],
)
def test_model_of_the_target(target, name):
    assert model_name(target.partition("-")[0]) == name
    common = ["-Oz", f"--target={target}", "-ffreestanding", "-w", "-c", "fold.c", "-o"]
    clang(*common, "small.o", model=sure_of("end", "frame-pointer=all", target=name))
    clang(*common, "other.o", model=sure_of("end", "frame-pointer=all"))
    plain(*common, "plain.o")
    assert contents("small.o") != contents("plain.o") == contents("other.o")


@pytest.mark.parametrize("point", ["start", "end"])
def test_functions_larger_than_those_of_the_trials_stay(point):
    plain("-Oz", "-c", "fold.c", "-o", "plain.o")
    for most, changes in ((1, False), (1000, True)):
        clang("-Oz", "-c", "fold.c", model=sure_of(point, "frame-pointer=all", most=most))
        assert (contents("fold.o") != contents("plain.o")) == changes


def test_same_bytes_in_another_folder(folder):
    clang("-Oz", "-c", "fold.c", "-o", "first.o")
    clang("-Oz", "-c", "fold.c", "-o", "second.o")
    other = folder / "other"
    other.mkdir()
    (other / "fold.c").write_text(_SOURCE)
    plain("-Oz", *one_run_options(), "-c", "fold.c", cwd=other)
    assert contents("first.o") == contents("second.o") == contents(other / "fold.o")


@pytest.mark.parametrize(
    "words",
    ["-O2", "-Os", "-O0", "-Oz --target=riscv32-unknown-elf", "-Oz -mllvm -opt-bisect-limit=9999"],
)
def test_nothing_changes_elsewhere(words):
    common = [*words.split(), "-ffreestanding", "-w", "-c", "fold.c", "-o"]
    clang(*common, "small.o", model=sure_of("start", "simplifycfg", "sroa", "frame-pointer=all"))
    plain(*common, "plain.o")
    assert contents("small.o") == contents("plain.o")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("start", "simplifycfg"),
        ("start", "-indvars-widen-indvars=0"),
        ("end", "machinelicm+early-machinelicm"),
        ("end", "frame-pointer=all"),
        ("whole", "-disable-lsr"),
        ("calls", "inline"),
    ],
)
def test_each_kind_of_decision(kind, text):
    model = sure_of(kind, text)
    said = clang("-Oz", "-Rpass=compiler-gym-oz", "-c", "fold.c", model=model)
    assert "fold: " in said or kind in ("whole", "calls")
    plain("-Oz", "-c", "fold.c", "-o", "plain.o")
    assert contents("fold.o") != contents("plain.o")
    for each in ("", "-flto", "-flto=thin"):
        clang("-Oz", *each.split(), "-c", "fold.c", model=model)
        plain("-Oz", *each.split(), "-fuse-ld=lld", "main.c", "fold.o", "-o", "main")
        plain("-O1", "main.c", "-x", "c", "fold.c", "-o", "reference")
        printed = [subprocess.check_output([f"./{name}"]) for name in ("main", "reference")]
        assert printed[0] == printed[1]


def test_excluded_functions_stay():
    kept = '__attribute__((annotate("compiler_gym:keep"))) '
    Path("fold.c").write_text(_SOURCE.replace("unsigned fold", kept + "unsigned fold"))
    common = ["-Oz", "-ffunction-sections", "-c", "fold.c", "-o"]
    plain(*common, "plain.o")
    for kind, *texts in (
        ("start", "simplifycfg", "sroa"),
        ("end", "machinelicm+early-machinelicm", "frame-pointer=all"),
        ("whole", "-disable-lsr"),
    ):
        clang(*common, "small.o", model=sure_of(kind, *texts))
        assert code("small.o", ".text.fold") == code("plain.o", ".text.fold")
    # No pass is left out of a recursive function.
    clang(*common, "small.o", model=sure_of("start", "simplifycfg"))
    assert code("small.o", ".text.depth") == code("plain.o", ".text.depth")


def test_debugging_information_changes_nothing():
    model = sure_of("start", "simplifycfg")
    clang("-Oz", "-c", "fold.c", "-o", "without.o", model=model)
    clang("-Oz", "-g", "-c", "fold.c", "-o", "with.o", model=model)
    assert code("without.o", ".text") == code("with.o", ".text")


def test_sources_of_one_process_are_independent():
    model = sure_of("whole", "-disable-lsr")
    other = _SOURCE.replace("fold", "other").replace("depth", "deeper")
    # Its options may not be set any more for this one.
    Path("other.c").write_text(other.replace("unsigned other", "[[clang::optnone]] unsigned other"))
    words = ["-cc1", "-Oz", "-emit-obj", "-load"]
    plugin = one_run_options()[0].partition("=")[2]
    Path("model.json").write_text(json.dumps(model))
    words += [plugin, f"-fpass-plugin={plugin}", "-mllvm", "-oz-model=model.json"]
    for sources in (["fold.c", "other.c"], ["other.c"], ["fold.c"]):
        plain(*words, *sources)
        for source in sources:
            made = Path(source).with_suffix(".o")
            made.replace(f"{made.stem}-{len(sources)}.o")
    assert contents("fold-1.o") == contents("fold-2.o")
    assert contents("other-1.o") == contents("other-2.o")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expected"),
        ("{}", "target"),
        (json.dumps(sure_of("end", "licm")).replace('"numbers": []', '"numbers": [1]'), "trees"),
    ],
)
def test_wrong_model_is_a_warning(text, why):
    said = clang("-Oz", "-c", "fold.c", "-o", "small.o", model=text)
    assert "warning: " in said and "model.json" in said and why in said
    Path("model.json").unlink()
    assert "No such file" in clang("-mllvm", "-oz-model=model.json", "-Oz", "-c", "fold.c")
    plain("-Oz", "-c", "fold.c", "-o", "plain.o")
    assert contents("small.o") == contents("plain.o") == contents("fold.o")


def test_options_of_the_user_count():
    common = ["-Oz", "-mllvm", "-enable-misched=1", "-c", "fold.c", "-o"]
    clang(*common, "small.o", model=sure_of("end", "-enable-misched=0"))
    plain(*common, "plain.o")
    assert contents("small.o") == contents("plain.o")
