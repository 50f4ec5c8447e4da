import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.envs.llvm import LLVM_SERVICE_BINARY, LlvmEnv
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import find_service_binary


def run_opt(command, folder):
    """Runs a command line that an environment has printed."""
    command = command.replace("opt", str(llvm_tools.opt_path()), 1)
    subprocess.run(command, shell=True, cwd=folder, check=True, timeout=120)


def test_arguments_in_the_documented_order(tmp_path):
    uri = "benchmark://kernels-v0/json"
    with LlvmEnv(LLVM_SERVICE_BINARY, uri, tmp_path) as env:
        assert env.service.endpoint == find_service_binary("compiler_gym-llvm-service")
        assert env.benchmark == uri
        assert env.datasets["benchmark://kernels-v0"].site_data_path.is_relative_to(tmp_path)
    with LlvmEnv(service=None, benchmark=None, datasets_site_path=None) as env:
        assert env.benchmark == "benchmark://kernels-v0/sha256"
    with pytest.raises(TypeError, match="got ''"):
        LlvmEnv(service="")  # Such as a variable that is not set.


def test_write_bitcode(env, small, tmp_path):
    env.reset(benchmark=small)
    env.step(env.action_space["mem2reg"])
    working_directory = Path(env.observation["BitcodeFile"]).parent
    files_before = set(working_directory.glob("*.bc"))
    path = env.write_bitcode(tmp_path / "out.bc")
    assert path.read_bytes() == env.observation["Bitcode"].tobytes()
    assert set(working_directory.glob("*.bc")) == files_before


def test_write_bitcode_takes_files_of_the_own_service_alone(env, small, tmp_path, monkeypatch):
    env.reset(benchmark=small)
    expected = env.observation["Bitcode"].tobytes()
    other = tmp_path / "other.bc"
    other.write_bytes(b"a file of the user")
    link = env.service.service.working_dir / "link.bc"
    link.symlink_to(other)
    above = env.service.service.working_dir / "no-folder" / ".." / ".." / "module.bc"
    spec = env.observation.spaces["BitcodeFile"]
    for name in (other, link, above, link.parent, "/no/such/folder/module.bc"):
        monkeypatch.setattr(spec, "translate", lambda event, name=name: str(name))
        assert env.write_bitcode(tmp_path / "out.bc").read_bytes() == expected
    assert other.read_bytes() == b"a file of the user"
    # A service that somebody else has started is not asked for a file.
    monkeypatch.setattr(spec, "translate", lambda event: pytest.fail("asked for a file"))
    with LlvmEnv(f"127.0.0.1:{env.service.service.port}") as elsewhere:
        elsewhere.reset(benchmark=small)
        monkeypatch.setattr(elsewhere.observation.spaces["BitcodeFile"], "translate", pytest.fail)
        assert elsewhere.write_bitcode(tmp_path / "out.bc").read_bytes() == expected


def test_render(env, small, capsys):
    env.reset(benchmark=small)
    assert env.render() is None
    assert capsys.readouterr().out == env.ir + "\n"
    assert env.render(mode="ansi") == env.ir
    env.observation_space = "IrInstructionCount"
    assert env.render(mode="ansi") == str(env.observation["IrInstructionCount"])
    with pytest.raises(ValueError, match="render mode"):
        env.render(mode="rgb_array")


def test_textual_command_line(env, small, tmp_path):
    env.reset(benchmark=small)
    env.write_ir(tmp_path / "input.ll")
    env.multistep([env.action_space["sroa"], env.action_space["simplifycfg"]])
    command = env.commandline(textformat=True)
    assert command.endswith("input.ll -S -o output.ll")
    run_opt(command, tmp_path)
    assert "alloca" not in (tmp_path / "output.ll").read_text()


@pytest.mark.parametrize("program", [b"", b"not bitcode", b"BC\xc0\xde but no more"])
def test_corrupt_program(env, program):
    benchmark = Benchmark.from_file_contents("benchmark://user-v0/corrupt", program)
    with pytest.raises(BenchmarkInitError, match="benchmark://user-v0/corrupt"):
        env.reset(benchmark=benchmark)
    with pytest.raises(ValueError):  # The documented type.
        env.reset(benchmark=benchmark)
    env.reset(benchmark="benchmark://kernels-v0/sha256")
    assert env.in_episode


def test_program_files(env, small, tmp_path):
    env.reset(benchmark=small)
    env.write_bitcode(tmp_path / "program.bc")
    env.write_ir(tmp_path / "program.ll")
    (tmp_path / "a program.c").write_bytes(small.sources[0].contents)
    expected = env.observation["InstCount"]
    uris = [f"file://{tmp_path}/{name}" for name in ("program.bc", "program.ll", "a program.c")]
    for uri in [*uris, f"benchmark://file-v0{tmp_path}/program.bc"]:
        env.reset(benchmark=uri)
        assert str(env.benchmark) == uri
        np.testing.assert_array_equal(env.observation["InstCount"], expected)
    (source,) = env.datasets.benchmark(uris[2]).sources
    assert source.filename == "a program.c"


def test_make_benchmark_gives_the_advice_of_the_service(env, tmp_path):
    path = tmp_path / "old.ll"
    path.write_text("@g = global i8 0\n@h = global i1 icmp eq (ptr @g, ptr null)\n")
    messages = []
    for use in (env.make_benchmark, lambda path: env.reset(benchmark=path.as_uri())):
        with pytest.raises(BenchmarkInitError) as caught:
            use(path)
        messages.append(str(caught.value).partition(": line 2, column 16: ")[2])
    assert messages[0] == messages[1]
    assert f"LLVM {env.compiler_version.partition(' ')[0]}; for the text of an older" in messages[0]


def test_own_program_is_known_by_its_uri(env, tmp_path):
    path = tmp_path / "own.c"
    path.write_text("int main(void) { return 0; }")
    made = [
        env.make_benchmark(path),
        env.make_benchmark_from_source("int main() { return 0; }"),
        env.make_benchmark_from_command_line(f"gcc {path}"),
    ]
    for benchmark in made:
        env.reset(benchmark=str(benchmark.uri))
        assert env.benchmark is benchmark
    with env.fork() as fork:
        fork.reset(benchmark=str(made[0].uri))


@pytest.mark.parametrize("make", [list, Datasets])
def test_own_datasets(env, small, make):
    datasets = make([env.datasets["kernels-v0"]])
    env.datasets = datasets
    assert [str(dataset) for dataset in env.datasets] == ["benchmark://kernels-v0"]
    env.datasets.remember(small)
    env.reset(benchmark=str(small.uri))


def test_without_service_binary(monkeypatch):
    monkeypatch.setattr(
        "compiler_gym.envs.llvm.llvm_env.find_service_binary",
        lambda name: find_service_binary("no-such-service"),
    )
    with pytest.raises(OSError, match="no-such-service"):
        LlvmEnv()
