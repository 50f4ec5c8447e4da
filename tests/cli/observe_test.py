"""``compiler-gym observe``."""

import json


def test_values(run, program_c):
    done = run("observe", "sha256", "IrInstructionCount", "IrInstructionCountOz")
    (count, oz) = (line.split(": ") for line in done.stdout.splitlines())
    assert count[0] == "IrInstructionCount" and oz[0] == "IrInstructionCountOz"
    assert int(count[1]) > int(oz[1]) > 0
    after = run("observe", program_c, "IrInstructionCount", "--after", "sroa,instcombine").stdout
    assert int(after) < int(run("observe", program_c, "IrInstructionCount").stdout)


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


def test_wrong_arguments(run, fails, environment):
    assert "Did you mean Autophase" in fails("observe", "sha256", "Autofase")
    assert "Did you mean sroa?" in fails("observe", "sha256", "Ir", "--after", "sroaa")
    assert "There is no environment 'x'" in fails("observe", "sha256", "Ir", "--env", "x")
    assert "no dataset 'benchmark://kernels-v1'" in fails("observe", "kernels-v1/sha256", "Ir")
    assert "Did you mean" in fails("observe", "opensource-v0/lz4/lz4libs/lz5.c", "Ir")
    assert "no file folder/lz5.c" in fails("observe", "folder/lz5.c", "Ir")
    assert "Missing argument" in fails("observe", "sha256", code=2)
    (environment / "bad.c").write_text("int main( {")
    # What clang says takes several lines.
    done = run("observe", "bad.c", "Ir", code=1)
    assert done.stderr.startswith("compiler-gym: ") and "bad.c:1:" in done.stderr
