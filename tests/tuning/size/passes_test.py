"""The passes of the plugin that direct clang, run by opt."""

import json
import re
import subprocess

import pytest

from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.tuning.size.compilation import Change, Compilation, is_setting
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.one_run import MODELS
from compiler_gym.tuning.size.ranking import function_adjustments
from compiler_gym.util import llvm_tools

_MODULE = """
@table = global ptr @odr
define internal i32 @small(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define linkonce_odr i32 @odr(i32 %x) {
  ret i32 %x
}
define weak i32 @weak(i32 %x) {
  ret i32 %x
}
define i32 @never(i32 %x) noinline {
  ret i32 %x
}
define i32 @even(i32 %x) {
  %y = call i32 @odd(i32 %x)
  ret i32 %y
}
define i32 @odd(i32 %x) {
  %y = call i32 @even(i32 %x)
  ret i32 %y
}
define i32 @unoptimised(i32 %x) optnone noinline {
  %y = call i32 @small(i32 %x)
  ret i32 %y
}
declare i32 @other(i32)
define i32 @main(i32 %x, ptr %f) {
  %a = call i32 @small(i32 %x)
  %b = call i32 @odr(i32 %a)
  %c = call i32 @weak(i32 %b)
  %d = call i32 @never(i32 %c)
  %e = call i32 @even(i32 %d)
  %g = call i32 @other(i32 %e)
  %h = call i32 %f(i32 %g)
  %i = call i32 @small(i32 %h) noinline
  %j = call i32 @small(i32 7)
  ret i32 %j
}
"""


def opt(passes, text=_MODULE, check=True, options=()):
    command = [
        llvm_tools.opt_path(),
        f"-load-pass-plugin={llvm_tools.own_passes_path()}",
        f"-passes={passes}",
        *options,
        "-S",
    ]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=check)


def listed(text=_MODULE, passes="list-call-sites"):
    lines = opt(passes, text).stdout.partition("; ModuleID")[0]
    return [json.loads(line) for line in lines.splitlines()]


def test_calls_with_a_decision_are_listed():
    of_all = {"caller": "main", "discardable": True, "blocks": 1, "arguments": 1}
    small = {**of_all, "callee": "small", "local": True, "size": 2, "other_uses": 0}
    odr = {**of_all, "callee": "odr", "local": False, "size": 1, "other_uses": 1}
    assert listed() == [
        {**small, "index": 3, "constants": 0},
        {**odr, "index": 4, "constants": 0},
        {**small, "index": 9, "constants": 1},
    ]


def test_decisions_are_heeded_by_the_inliner():
    # Its threshold is such that it would inline all that it may.
    text = opt("set-call-sites<4=noinline>,cgscc(inline),globaldce").stdout
    assert "call i32 @odr" in text
    assert text.partition("@main")[2].count("call i32 @small") == 1  # As it is marked.
    text = opt("set-call-sites<3=noinline;9=noinline>,cgscc(inline)").stdout
    assert text.partition("@main")[2].count("call i32 @small") == 3
    # The later decision counts; no decision is a decision about any other call.
    text = opt("set-call-sites<3=noinline>,set-call-sites<3=inline>,always-inline").stdout
    assert text.partition("@main")[2].count("call i32 @small") == 2
    # What is decided is not listed any more, and the others keep their numbers.
    decided = opt("set-call-sites<3=noinline;4=inline>").stdout
    assert [each["index"] for each in listed(decided)] == [9]


def test_attributes():
    text = opt("set-attribute<minsize>,set-attribute<tune-cpu=nocona>").stdout
    groups = re.findall(r"^attributes #\d+ = { (.*) }$", text, re.M)
    assert sorted(groups) == [
        'minsize "tune-cpu"="nocona"',
        'minsize noinline "tune-cpu"="nocona"',
        "noinline",  # Of a call.
        "noinline optnone",
    ]
    assert "declare i32 @other(i32)\n" in text


def test_functions_have_numbers():
    names = ["small", "odr", "weak", "never", "even", "odd", "unoptimised", "main"]
    functions = listed(passes="list-functions")
    assert [(each["index"], each["name"]) for each in functions] == [*enumerate(names)]


def test_functions_are_known_by_their_content():
    def contents(text):
        return [each["content"] for each in listed(text, "list-functions")]

    same, other = contents(_TWICE)
    assert same == other
    assert contents(_TWICE.replace("%y", "%z").replace("@f", "@h")) == [same, same]
    edited, kept = contents(_TWICE.replace("i32 %x, 0", "i32 %x, 1", 1))
    assert edited != same == kept


_TWICE = """
define i32 @f(i32 %x) {
  %y = add i32 %x, 0
  ret i32 %y
}
define i32 @g(i32 %x) {
  %y = add i32 %x, 0
  ret i32 %y
}
"""


@pytest.mark.parametrize(
    ("skipped", "left"),
    [
        ("0=instcombine+gvn", "f"),
        ("1=gvn+instcombine;0=gvn", "g"),
        ("0:1=gvn+instcombine", "fg"),
        ("0=gvn", ""),
        ("0=dse", ""),
    ],
)
def test_passes_are_left_out_of_functions(skipped, left):
    text = opt(f"set-functions<{skipped}>,function(instcombine,gvn)", _TWICE).stdout
    functions = re.findall(r"define i32 @(\w)(\(.*?)\n}\n", text, re.S)
    assert [name for name, body in functions if "add i32" in body] == [*left]


def test_the_code_generator_leaves_passes_out_too(compilation, begin):
    evaluator, _ = begin(compilation)
    numbers = list_functions(evaluator)
    skip = Change().adjust({numbers["fold"]: ("codegenprepare", "machine-cse")})
    none = Change().adjust({numbers["fold"]: ("there-is-no-such-pass",)})
    every = Change().adjust(dict.fromkeys(numbers.values(), _OF_THE_CODE_GENERATOR))
    plain, skipped, same, worse = evaluator.evaluate([Change(), skip, none, every])
    assert plain.object.code == same.object.code != worse.object.code
    for name in ("mix", "main"):
        assert skipped.object.functions[name] == plain.object.functions[name]


def _of_one_run() -> set[str]:
    """The decisions about single functions of the models for one run of clang."""
    models = [json.loads(path.read_text(encoding="utf-8")) for path in MODELS.glob("*.json")]
    kinds = (model[kind]["choices"] for model in models for kind in ("start", "end"))
    return {choice["text"] for choices in kinds for choice in choices}


_SETTINGS = sorted({*filter(is_setting, {*function_adjustments(), *_of_one_run()})})


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The evaluator of a program, and the numbers of its functions."""
    source = KERNELS_PATH / "markdown" / "program.c"
    compilation = Compilation(
        llvm_tools.clang_path(), source, ("-w",), llvm_tools.own_passes_path()
    )
    folder = tmp_path_factory.mktemp("kernel")
    with Evaluator(compilation, folder, Budget()) as evaluator:
        evaluator.evaluate_source()
        yield evaluator, [*list_functions(evaluator).values()]


@pytest.mark.parametrize("setting", _SETTINGS)
def test_settings_of_all_functions_are_those_of_the_program(kernel, setting):
    evaluator, functions = kernel
    attribute = Change(passes=(f"set-attribute<{setting}>",))
    whole = Change((setting,)) if setting.startswith("-") else attribute
    each = Change().adjust(dict.fromkeys(functions, (setting,)))
    one, other = evaluator.evaluate([whole, each])
    assert one.object.digest == other.object.digest


def test_most_settings_have_an_effect(kernel):
    evaluator, functions = kernel
    changes = [Change().adjust(dict.fromkeys(functions, (each,))) for each in _SETTINGS]
    (plain, *found) = evaluator.evaluate([Change(), *changes])
    others = [each.object.digest for each in found if each.object.digest != plain.object.digest]
    assert len(others) > len(_SETTINGS) / 2


def test_an_option_of_one_function_leaves_others_alone(kernel):
    evaluator, _ = kernel
    option = "-enable-misched=0"
    before, whole = evaluator.evaluate([Change(), Change((option,))])
    sizes, others = (each.object.functions for each in (before, whole))
    changed = next(name for name, size in sizes.items() if others[name] != size)
    number = list_functions(evaluator)[changed]
    (one,) = evaluator.evaluate([Change().adjust({number: (option,)})])
    assert one.object.functions == sizes | {changed: others[changed]}


def test_options_of_functions_go_before_those_of_the_program(kernel):
    evaluator, functions = kernel
    none, some = "-min-jump-table-entries=1000", "-min-jump-table-entries=2"
    change = Change((none,)).adjust(dict.fromkeys(functions, (some,)))
    assert f"set-functions<*={none};" in change.arguments(None)[-1]
    first, second, whole = evaluator.evaluate([change, Change((some,)), Change((none,))])
    assert first.object.code == second.object.code != whole.object.code
    (mixed,) = evaluator.evaluate([Change((none,)).adjust({functions[0]: (some,)})])
    assert mixed.object.code == whole.object.code


@pytest.mark.parametrize(
    ("passes", "options"),
    [
        ("set-functions<0=-no-such-option>", ()),
        ("set-functions<*=-no-such-option>", ()),
        ("set-functions<0=-enable-load-pre=perhaps>", ()),
        ("set-functions<0=-enable-load-pre=0>", ("-enable-load-pre=1",)),
        ("set-functions<0=-enable-pre=0>", ()),
        ("set-functions<*=-enable-pre=0;0=-enable-pre=1>", ()),
        ("set-functions<*=-enable-pre=0>", ("-enable-pre=1",)),
        ("set-functions<99=gvn>", ()),
        ("set-call-sites<99=inline>", ()),
    ],
)
def test_settings_that_cannot_be(passes, options):
    done = opt(passes, options=options, check=False)
    assert done.returncode != 0 and "error: There is no " in done.stderr


_OF_THE_CODE_GENERATOR = ("codegenprepare", "machine-cse", "peephole-opt", "branch-folder")


def test_the_rest_is_left_out(begin, compilation):
    evaluator, plain = begin(compilation)
    sequences = [("skip-rest",), ("function(sroa)", "skip-rest"), ("function(sroa)",)]
    alone, promoted, before = evaluator.evaluate([Change(sequence=each) for each in sequences])
    # It is as if there were no passes; what comes before is run.
    none = evaluator.compilation.command_of_unit(evaluator.unit, evaluator.unit.with_name("n.o"))
    subprocess.run([*none, "-Xclang", "-disable-llvm-passes"], check=True)
    assert alone.object.code == read_object(evaluator.unit.with_name("n.o")).code
    assert alone.object.text > promoted.object.text
    assert promoted.object.code != plain.object.code == before.object.code


_MALFORMED = """
skip-rest<1> list-call-sites<1> set-functions set-functions<> set-functions<0> set-functions<0=>
set-functions<x=gvn> set-functions<0:=gvn> set-functions<*=gvn> set-call-sites set-call-sites<>
set-call-sites<3> set-call-sites<3=keep> set-call-sites<x=inline> set-call-sites<-1=inline>
set-attribute<> set-attribute<minsize=1> set-attribute<nonsense> set-attribute<readonly>
set-attribute<=1> set-attribute<align>
"""


@pytest.mark.parametrize("passes", _MALFORMED.split())
def test_malformed_passes_are_refused(passes):
    done = opt(passes, check=False)
    assert done.returncode == 1
    assert "unknown pass name" in done.stderr or "invalid" in done.stderr


def test_clang_runs_them_first(source, tmp_path):
    plugin = llvm_tools.own_passes_path()

    def assembly(passes):
        load = ["-Xclang", "-load", "-Xclang", plugin, f"-fpass-plugin={plugin}"]
        words = [*load, "-mllvm", f"-first-passes={passes}", "-S", "-o", "-", "-emit-llvm"]
        command = [llvm_tools.clang_path(), "-Oz", source, *words]
        return subprocess.run(command, capture_output=True, text=True)

    done = assembly("set-attribute<first=yes>")
    assert done.returncode == 0 and '"first"="yes"' in done.stdout
    done = assembly("no-such-pass")
    assert done.returncode != 0 and "-first-passes: unknown pass name 'no-such-pass'" in done.stderr
