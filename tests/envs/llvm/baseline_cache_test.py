"""Costs of baselines outlive the service that computed them."""

import os

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import ServiceInitError
from compiler_gym.service import ConnectionOpts
from tests.envs.llvm.kernel_programs import kernel_uri


def power(name: str, factor: str) -> Benchmark:
    """A program whose baselines differ from each other, and are computed quickly."""
    text = f"""
define i32 @{name}(i32 %n, i32 %x) {{
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %product = phi i32 [ 1, %0 ], [ %more, %loop ]
  %more = mul i32 %product, {factor}
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret i32 %more
}}
"""
    return Benchmark.from_file_contents(f"benchmark://user-v0/{name}", text.encode())


PROGRAM = power("power", "%x")
NAMES = [
    f"{cost}{baseline}"
    for cost in ["IrInstructionCount", "ObjectTextSize", "CyclesEstimate"]
    for baseline in ["O0", "O3", "Oz"]
]
FILE = "baselines/baselines.table"

# What a service says of itself.
ALL_COMPUTED = f"computed={len(NAMES)} read=0"
ALL_READ = f"computed=0 read={len(NAMES)}"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(folder))
    monkeypatch.delenv("COMPILER_GYM_SERVICE_ARGS", raising=False)
    return folder


def baselines_of_a_service(names=NAMES, program=PROGRAM, flags=(), **kwargs):
    """Starts a service, asks for baselines, and ends it.

    Returns:
        The baselines, and how they became known.
    """
    with LlvmEnv(connection_settings=ConnectionOpts(script_args=list(flags)), **kwargs) as env:
        env.reset(benchmark=program)
        values = {name: env.observation[name] for name in names}
        # Those of the next episode are known to the service.
        env.reset()
        assert {name: env.observation[name] for name in names} == values
        return values, env.send_param("llvm.get_baseline_counts", "")


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_second_service_computes_nothing(cache):
    values, known = baselines_of_a_service()
    assert known == ALL_COMPUTED
    assert baselines_of_a_service() == (values, ALL_READ)
    assert files(cache) == [FILE]
    assert (cache / FILE).stat().st_mode & 0o777 == 0o600
    assert (cache / "baselines").stat().st_mode & 0o777 == 0o700


def test_services_at_the_same_time(cache):
    with LlvmEnv(benchmark=PROGRAM) as one, LlvmEnv(benchmark=PROGRAM) as other:
        one.reset()
        other.reset()
        value = one.observation["IrInstructionCountOz"]
        assert other.observation["IrInstructionCountOz"] == value
        assert other.send_param("llvm.get_baseline_counts", "") == "computed=0 read=1"


def test_each_program_and_target_has_its_own(cache):
    values, _ = baselines_of_a_service()
    for other in ({"program": power("other", "3")}, {"target_triple": "riscv64-linux-gnu"}):
        others, known = baselines_of_a_service(**other)
        assert known == ALL_COMPUTED
        assert others != values
    assert baselines_of_a_service() == (values, ALL_READ)


def test_a_damaged_file_is_replaced(cache):
    values, _ = baselines_of_a_service()
    (cache / FILE).write_bytes(os.urandom((cache / FILE).stat().st_size))
    assert baselines_of_a_service() == (values, ALL_COMPUTED)
    assert baselines_of_a_service() == (values, ALL_READ)


def test_built_sizes_are_not_cached(cache):
    names = ["TextSizeO0", "TextSizeOz"]
    program = kernel_uri("sha256")  # Which has a build command.
    values, known = baselines_of_a_service(names, program)
    assert known == "computed=2 read=0"
    assert baselines_of_a_service(names, program) == (values, known)
    assert values["TextSizeOz"] < values["TextSizeO0"]


def test_another_folder(cache, tmp_path):
    flags = [f"--baseline_cache={tmp_path}/mine/baselines"]
    values, _ = baselines_of_a_service(flags=flags)
    assert baselines_of_a_service(flags=flags) == (values, ALL_READ)
    assert files(cache) == []
    assert files(tmp_path / "mine") == [FILE]


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_switched_off(cache, monkeypatch, by):
    flags = ["--baseline_cache="] if by == "flag" else []
    if by == "variable":
        monkeypatch.setenv("COMPILER_GYM_SERVICE_ARGS", "--baseline_cache=")
    values, known = baselines_of_a_service(flags=flags)
    assert known == ALL_COMPUTED
    assert baselines_of_a_service(flags=flags) == (values, ALL_COMPUTED)
    assert files(cache) == []


def test_unusable_folder(cache):
    cache.mkdir()
    (cache / "baselines").write_text("a file")
    with LlvmEnv(benchmark=PROGRAM) as env:
        env.reset()
        assert env.observation["IrInstructionCountOz"] > 0
        assert any("Baseline costs are not kept in" in line for line in env.service.loglines())
    assert (cache / "baselines").read_text() == "a file"


def test_a_relative_path_is_refused(cache):
    opts = ConnectionOpts(script_args=["--baseline_cache=baselines"])
    with pytest.raises(ServiceInitError, match="absolute path"):
        LlvmEnv(connection_settings=opts)
