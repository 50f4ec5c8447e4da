"""``compiler-gym observe``."""

import json


def test_ir_goes_into_a_file_and_is_a_program_again(run, program_c, environment):
    text = run("observe", program_c, "Ir", "--after", "sroa").stdout
    assert "phi i32" in text
    (environment / "again.ll").write_text(text)
    assert run("observe", "again.ll", "Ir").stdout == text


def test_programs_of_generators_need_no_scheme(run):
    """As in Python: env.reset(benchmark="llvm-stress-v0/5")."""
    text = run("observe", "llvm-stress-v0/5", "Ir").stdout
    assert text == run("observe", "generator://llvm-stress-v0/5", "Ir").stdout
    assert "define" in text
    steps = run("replay", "--program", "llvm-stress-v0/5", "sroa", "--json").stdout
    assert json.loads(steps)[0]["benchmark"] == "generator://llvm-stress-v0/5"


def test_target_of_machine_code_is_named(run, environment):
    text = 'target triple = "aarch64-unknown-linux-gnu"\ndefine void @f() {\n  ret void\n}\n'
    (environment / "arm.ll").write_text(text)
    done = run("observe", "arm.ll", "ObjectTextSizeOz")
    assert int(done.stdout) == 4
    assert "arm.ll is for aarch64-unknown-linux-gnu" in done.stderr
    assert "aarch64" not in run("observe", "arm.ll", "IrInstructionCount").stderr


def test_json(run):
    arguments = ("AutophaseDict", "Autophase", "Programl", "CallGraph", "LexedIrTuple", "--json")
    values = json.loads(run("observe", "sha256", *arguments).stdout)
    assert values["AutophaseDict"]["BBNumArgsHi"] == values["Autophase"][0]
    assert len(values["Programl"]["nodes"]) > len(values["Programl"]["nodes"][0])
    assert set(values) == set(arguments[:-1])


def test_a_program_that_does_not_compile(run, environment):
    (environment / "bad.c").write_text("int main( {")
    # What clang says takes several lines.
    done = run("observe", "bad.c", "Ir", code=1)
    assert done.stderr.startswith("compiler-gym: ") and "bad.c:1:" in done.stderr


def test_paths_that_are_no_programs(run, environment):
    for name in ("folder", "sha256"):
        (environment / name).mkdir()
    for name in ("/dev/null", str(environment), "..", ".", "folder", "./sha256"):
        done = run("observe", name, "Ir", code=1)
        assert f"expected a file or the name of a program, got {name}" in done.stderr
    for name in ("/nowhere/x", "./x"):
        assert f"There is no file {name}" in run("observe", name, "Ir", code=1).stderr
    assert "define" in run("observe", "sha256", "Ir").stdout  # The folder hides no program.
