import re
from types import SimpleNamespace

import pytest

from benchmarks import code_size_report
from benchmarks.code_size_report import Row, geomean_saved, main, report
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.envs.llvm.datasets.opensource_dataset import OpenSourceDataset


def row(name, sizes, loaded, stages):
    at = {count: size for count, size in sizes.items() if count}
    return Row(name, sizes[0], at, loaded, loaded, stages, 1.0, wrong=0, failed=1, evaluations=10)


def test_saved():
    two = {"portfolio": 170, "calls": 160}
    assert geomean_saved([(100, 90), (1000, 900)]) == pytest.approx(0.1)
    rows = [
        row("one", {0: 100, 1: 90, 10: 80}, {0: 120, 1: 120, 10: 132}, {"portfolio": 80}),
        row("two", {0: 200, 1: 200, 10: 160}, {0: 240, 1: 240, 10: 240}, two),
    ]
    text = report(rows)
    assert "| one | 100 | 90 (10.0%) | 80 (20.0%) | 1 | 0 |" in text
    assert "| geometric mean | 5.13% | 20.00% |" in text
    assert "| least | 0.00% | 20.00% |" in text and "| most | 10.00% | 20.00% |" in text
    assert "| smaller | 1 of 2 | 2 of 2 |" in text
    assert "| least | 0.00% | -10.00% |" in text and "| larger | 0 of 2 | 1 of 2 |" in text
    assert "portfolio 17.54% (2 programs), calls 20.00% (1 programs)\n" in text
    assert text.endswith("clang failed in 2 evaluations.")


def test_results_that_a_search_takes_back_do_not_count():
    leads = code_size_report.Leads()
    search = SimpleNamespace(evaluator=SimpleNamespace(budget=SimpleNamespace(used=0)), wrong=[])
    search.size = lambda each: each.size
    first, second, taken_back = (SimpleNamespace(size=size, change=size) for size in (9, 8, 5))
    for used, each in enumerate((first, second, taken_back)):
        search.evaluator.budget.used, search.leading = used, each
        leads.watch(search)
    # Repaired: smaller than the first results, and larger than what was taken back.
    search.best = SimpleNamespace(size=7, change=7)
    assert [leads.at(search, count) for count in range(4)] == [
        first,
        second,
        search.best,
        search.best,
    ]


def test_cached_results_are_not_measured_again(monkeypatch, capsys, tmp_path):
    options = ["--evaluations", "2", "--jobs", "1", "--objective", "linked"]
    keep = ["--keep", str(tmp_path / "rows")]
    monkeypatch.setattr("sys.argv", ["report", "sorting", *options, *keep])
    main()
    printed = capsys.readouterr().out
    before, after = map(int, re.findall(r"^\| sorting \| (\d+) \| (\d+) ", printed, re.M)[0])
    assert after < before and "| smaller | 1 of 1 |" in printed
    first = printed.splitlines()
    monkeypatch.setattr("sys.argv", ["report", "sorting", "aes", *options, *keep])

    def stop(source, *_):
        assert source.name == "aes"
        raise KeyboardInterrupt

    monkeypatch.setattr(code_size_report, "measure", stop)
    main()
    second = capsys.readouterr().out.splitlines()
    assert first[0].startswith("sorting: ") and second[0] == "Ctrl-C: 1 programs"
    assert first[1:] == second[1:]


def test_files_of_released_software(monkeypatch, capsys, tmp_path):
    # The file of another program is in its place, as nothing is downloaded here.
    dataset = OpenSourceDataset(tmp_path)
    uri = next(uri for uri in dataset.benchmark_uris("test") if uri.endswith(".c"))
    name, _, file = uri.removeprefix(f"{dataset.name}/").partition("/")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_bytes((KERNELS_PATH / "sorting" / "program.c").read_bytes())
    monkeypatch.setattr(OpenSourceDataset, "unpacked", lambda *_: tmp_path)
    monkeypatch.setattr(OpenSourceDataset, "benchmark_uris", lambda *_: iter([uri]))
    options = ["--opensource", "1", "--evaluations", "1", "--jobs", "1"]
    monkeypatch.setattr("sys.argv", ["report", *options])
    main()
    assert f"| {name}/{file} | " in capsys.readouterr().out


def test_gains_of_the_portfolio(monkeypatch, capsys):
    first = code_size_report.shipped_portfolio()[:2]
    monkeypatch.setattr(code_size_report, "shipped_portfolio", lambda **_: first)
    monkeypatch.setattr("sys.argv", ["report", "sorting", "--portfolio", "--jobs", "1"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(" ", 1)[1] for line in lines} == {each.name for each in first}
    assert all(0 < float(line.split()[0]) < 0.2 for line in lines)
