import csv
import io
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from compiler_gym.compiler_env_state import (
    CompilerEnvState,
    CompilerEnvStateReader,
    CompilerEnvStateWriter,
)
from compiler_gym.datasets import BenchmarkUri

URI = "benchmark://kernels-v0/sha256"


def make(**kwargs):
    return CompilerEnvState(**{"benchmark": URI, "commandline": "-a", "walltime": 1, **kwargs})


def read(text):
    return list(CompilerEnvStateReader(io.StringIO(text)))


class TestState:
    def test_benchmark_becomes_canonical(self):
        assert make(benchmark="kernels-v0/sha256").benchmark == URI
        assert make(benchmark=BenchmarkUri.from_string(URI)).benchmark == URI

    @pytest.mark.parametrize(
        "values",
        [
            {"walltime": -1},
            {"walltime": float("nan")},
            {"walltime": "long"},
            {"benchmark": "two words"},
            {"benchmark": ""},
            {"commandline": None},
            {"reward": "much"},
            {"colour": "red"},
        ],
    )
    def test_malformed(self, values):
        with pytest.raises(ValueError, match=f"(?s)CompilerEnvState.*{next(iter(values))}"):
            make(**values)

    @pytest.mark.parametrize("name", ["benchmark", "commandline", "walltime"])
    def test_required(self, name):
        values = make().model_dump()
        del values[name]
        with pytest.raises(ValueError, match=name):
            CompilerEnvState(**values)

    def test_assignment(self):
        state = make()
        state.reward = 3
        state.commandline = "-b"
        assert (state.reward, state.commandline) == (3.0, "-b")
        with pytest.raises(ValueError, match="frozen"):
            state.benchmark = "benchmark://kernels-v0/json"
        with pytest.raises(ValueError, match="walltime"):
            state.walltime = -1

    def test_made_by_another_version(self):
        text = "Made by version 22.1.8 of the compiler, and this is 23.1.4"
        assert make(compiler_version="22.1.8").made_by_another("23.1.4") == text
        assert make(compiler_version="22.1.8").made_by_another("22.1.8") == ""
        assert make(compiler_version="22.1.8").made_by_another("") == ""
        assert make().made_by_another("23.1.4") == ""

    def test_equality(self):
        assert make(walltime=1) == make(walltime=2)
        assert make(compiler_version="22.1.8") == make(compiler_version="23.1.4")
        assert make(reward=1) == make(reward=1 + 9e-6)
        assert make(reward=1) != make(reward=1 + 2e-5)
        assert make(reward=1e9) != make(reward=1e9 + 1)
        assert make(reward=1) == make()
        assert make() != make(commandline="-b")
        assert make() != make(benchmark="benchmark://kernels-v0/json")
        assert make() != "state"


class TestWriter:
    def test_rows(self):
        f = io.StringIO()
        writer = CompilerEnvStateWriter(f)
        state = make(reward=0.25, walltime=1.5, commandline="opt -a, -b")
        writer.write_state(state.model_copy(update={"compiler_version": "22.1.8"}))
        writer.write_state(make())
        assert f.getvalue() == (
            "benchmark,reward,walltime,commandline,compiler_version\n"
            f'{URI},0.25,1.5,"opt -a, -b",22.1.8\n{URI},,1.0,-a,\n'
        )
        f = io.StringIO()
        CompilerEnvStateWriter(f, header=False).write_state(make())
        assert f.getvalue() == f"{URI},,1.0,-a,\n"

    def test_context_and_flush(self, tmp_path):
        path = tmp_path / "states.csv"
        with CompilerEnvStateWriter(path.open("w")) as writer:
            writer.write_state(make(), flush=True)
            assert len(path.read_text().splitlines()) == 2
        assert writer.f.closed


class TestReader:
    def test_round_trip(self):
        states = [
            make(reward=1 / 3, walltime=0.1, compiler_version="22.1.8"),
            make(commandline='opt "-a, b"\n'),
            make(commandline="-p " * 200_000),
        ]
        f = io.StringIO()
        writer = CompilerEnvStateWriter(f)
        for state in states:
            writer.write_state(state)
        assert [s.model_dump() for s in read(f.getvalue())] == [s.model_dump() for s in states]

    def test_limit_of_the_csv_module_is_left_alone(self):
        before = csv.field_size_limit()
        reader = iter(CompilerEnvStateReader(io.StringIO(f"{URI},1,2,{'-p ' * 200_000}\n" * 2)))
        next(reader)
        assert csv.field_size_limit() == before
        assert len([*reader]) == 1
        assert csv.field_size_limit() == before

    @pytest.mark.parametrize(
        ("text", "version"),
        [
            (f"{URI},0.5,2,-a -b\n", None),
            (f"benchmark,reward,walltime,commandline\n{URI},0.5,2,-a -b\n", None),
            (f"WALLTIME, Reward ,commandline,Benchmark\n2,0.5,-a -b,{URI}\n", None),
            (f"{URI},0.5,2,-a -b\n\n", None),
            (f"{URI},0.5,2,-a -b,23.1.4\n", "23.1.4"),
            (f"Compiler_Version,walltime,reward,commandline,benchmark\n9,2,.5,-a -b,{URI}\n", "9"),
        ],
    )
    def test_columns(self, text, version):
        (state,) = read(text)
        assert state.model_dump() == {
            "benchmark": URI,
            "reward": 0.5,
            "walltime": 2,
            "commandline": "-a -b",
            "compiler_version": version,
        }

    @pytest.mark.parametrize("line", [f"{URI},,,\n", f"{URI},,,,\n"])
    def test_empty(self, line):
        (state,) = read(line)
        assert state.reward is None
        assert state.walltime == 0
        assert state.commandline == ""
        assert state.compiler_version is None
        assert read("") == []

    @pytest.mark.parametrize(
        "text, message",
        [
            ("a,b,c\n", "Line 1: expected 4 or 5 columns .* found 3"),
            (f"{URI},1,2,-a\n{URI},1\n", "Line 2: expected 4 columns .* found 2"),
            (f"{URI},much,2,-a\n", "Line 1 is not a state: .*much"),
            (f"{URI},1,-2,-a\n", "(?s)Line 1 is not a state: .*walltime"),
            (f"benchmark,reward,walltime,commandline\n{URI},1,x,-a\n", "Line 2 is not a state"),
            ("two words,1,1,-a\n", "(?s)Line 1 is not a state: .*Malformed benchmark URI"),
        ],
    )
    def test_malformed(self, text, message):
        with pytest.raises(ValueError, match=message):
            read(text)


class TestReadPaths:
    def test_files(self, tmp_path):
        (tmp_path / "1.csv").write_text(f"{URI},1,1,-a\n")
        (tmp_path / "2.csv").write_text(
            f"benchmark,reward,walltime,commandline\n{URI},2,2,-b\n", encoding="utf-8-sig"
        )
        paths = [tmp_path / "1.csv", str(tmp_path / "2.csv")]
        states = list(CompilerEnvStateReader.read_paths(paths))
        assert [state.reward for state in states] == [1, 2]

    def test_standard_input(self, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{URI},3,1,-a\n"))
        assert [state.reward for state in CompilerEnvStateReader.read_paths(["-"])] == [3]

    def test_web_address(self, monkeypatch):
        body = f"{URI},4,1,-a\n".encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        monkeypatch.setenv("no_proxy", "*")
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.handle_request, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/states.csv"
            assert [state.reward for state in CompilerEnvStateReader.read_paths([url])] == [4]

    def test_other_lines_than_the_malformed_are_read(self, tmp_path):
        (tmp_path / "some.csv").write_text(f"{URI},1,1,-a\n1,2\n{URI},x,1,-a\n{URI},2,2,-b\n")
        (tmp_path / "none.csv").write_text("text\n" * 9)
        (tmp_path / "bytes.csv").write_bytes(f"{URI},3,1,-a\n".encode() + b"\xff,1\n" * 9)
        (tmp_path / "last.csv").write_text(f"{URI},4,1,-a\n")
        paths = [tmp_path / f"{name}.csv" for name in ("some", "none", "bytes", "last")]
        errors = []
        states = CompilerEnvStateReader.read_paths(paths, errors.append)
        assert [state.reward for state in states] == [1, 2, 4]
        texts = [str(error).removeprefix(f"{tmp_path}/") for error in errors]
        assert [text.partition(":")[0] for text in texts] == ["some.csv"] * 2 + [
            "none.csv",
            "bytes.csv",
        ]
        assert texts[0].startswith("some.csv: Line 2: expected 4 columns (benchmark, reward,")
        assert "Line 3 is not a state" in texts[1]

    def test_error_names_file(self, tmp_path):
        (tmp_path / "bad.csv").write_text("1,2\n")
        with pytest.raises(ValueError, match=r"bad\.csv: Line 1"):
            list(CompilerEnvStateReader.read_paths([tmp_path / "bad.csv"]))
