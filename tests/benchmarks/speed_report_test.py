import json

import pytest

from benchmarks import speed_report

SHA256 = "benchmark://kernels-v0/sha256"


def row(speedup, claimed, copy=(1.0, 1.1)):
    comparison = {
        **{"speedup": speedup, "low": speedup - 0.01, "high": speedup + 0.01},
        **{"p_value": 1e-9 if claimed else 0.4, "claimed": claimed},
    }
    return {
        **{"program": SHA256, "search": comparison, "copy": {**comparison, "speedup": 1.0}},
        **{"times": {"clang": [1.0, 1.0], "copy": copy}, "evaluations": 7, "change": {}},
    }


def test_programs_are_real():
    programs = speed_report.all_programs()
    assert len(programs) == 44 and SHA256 in programs


def test_only_proven_gains_count(capsys):
    pgo = {"speedup": 1.2, "low": 1.1, "high": 1.3, "p_value": 1e-5, "claimed": True}
    rows = [row(1.07, True), row(1.5, False), {**row(1.04, True), "pgo": pgo}]
    rows[0]["change"] = {"options": ["-pgo-test-profile-file=/a", "-a"], "loops": ["3=b:2"]}
    speed_report.print_table(rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| sha256 | 1.500 |") and lines[2].endswith("| not proven |")
    text = "| sha256 | 1.070 | 1.060 to 1.080 |  | 1.000 | 4.8% | 7 | profile, `-a`, loop 3=b:2 |"
    assert lines[3] == text
    assert lines[-5:] == [
        "3 programs, 2 proven to be faster.",
        "At least 3% faster, proven: 2, 1 of them without a profile; PGO: 1.",
        "At least 5% faster, proven: 1, 0 of them without a profile; PGO: 1.",
        "At least 10% faster, proven: 0, 0 of them without a profile; PGO: 1.",
        "Geometric means: 1.036; PGO: 1.200.",
    ]


def test_copies_are_compared_and_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(speed_report, "PAIRS_OF_CLAIM", 2)
    rows = tmp_path / "claims.jsonl"
    arguments = {"programs": [SHA256], "keep": rows}
    speed_report.main(**arguments, identical=2)
    assert (
        "2 comparisons of 1 programs with their copies: 0 false claims." in capsys.readouterr().out
    )
    before = rows.read_text()
    assert [json.loads(line)["program"] for line in before.splitlines()] == [SHA256] * 2
    speed_report.main(**arguments, identical=2)
    assert rows.read_text() == before


def test_a_program_is_trained(tmp_path):
    subject = speed_report.Subject(SHA256, tmp_path)
    program = subject.profile_guided()
    assert subject.workload.check(program) == ""
    with pytest.raises(ValueError, match="once: Wrong output"):
        other = tmp_path / "other.o"
        source = tmp_path / "other.c"
        source.write_text("int main(void) { return 0; }")
        speed_report.run_command([subject.compilation.clang, "-c", source, "-o", other], 60)
        subject.linked("once", other)
