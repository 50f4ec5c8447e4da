"""Programs of users, good and bad."""

import random

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.mlir import MlirEnv
from compiler_gym.errors import BenchmarkInitError, ServiceError
from tests.effort import IS_LONG
from tests.envs.mlir.kernels import MATMUL, kernel

FOREVER = """
%first = arith.constant 0 : index
%true = arith.constant true
scf.while : () -> () {
  %x = memref.load %a[%first] : memref<64xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%first] : memref<64xf32>
  scf.condition(%true)
} do {
  scf.yield
}
"""
CRASH = """
%far = arith.constant 1000000000000 : index
%one = arith.constant 1.0 : f32
memref.store %one, %a[%far] : memref<64xf32>
"""


def program(text):
    return Benchmark.from_file_contents("benchmark://tests-v0/program", text)


@pytest.fixture(scope="module")
def env():
    with MlirEnv() as env:
        yield env


@pytest.mark.parametrize(
    ("benchmark", "reason"),
    [
        (kernel("linalg.nothing"), "kernel.mlir"),
        (kernel("", "%a: memref<?xf32>"), "static"),
        (kernel("", "%a: memref<4xf16>"), "f32, f64, i32 or i64"),
        (kernel("", "%a: f32"), "memref"),
        (kernel("", "%a: memref<4xf32, strided<[2]>>"), "layout"),
        (kernel("", "%a: memref<99999999999xf32>"), r"2\^26"),
        (kernel("", "%a: memref<67108864xf32>, %b: memref<1xf32>"), "256 MiB"),
        (kernel("", "%a: memref<0xf32>"), "at least one"),
        (kernel("", ""), "no arguments"),
        (program(b"func.func @f() { return }"), "@kernel"),
        (program(b"func.func private @kernel()"), "@kernel"),
        (program(b"ML\xefR123"), "text"),
        (program(b""), "@kernel"),
        (kernel(CRASH), "crashed"),
    ],
)  # fmt: skip
def test_invalid_kernel(env, benchmark, reason):
    with pytest.raises((BenchmarkInitError, ValueError), match=reason):
        env.reset(benchmark=benchmark)


@pytest.mark.skipif(not IS_LONG, reason="the long form; ChildProcessTest.Hang has a short limit")
def test_endless_loop(env):
    # On a busy machine, more by the clock.
    errors = (BenchmarkInitError, ValueError, ServiceError)
    with pytest.raises(errors, match="took more than"):
        env.reset(benchmark=kernel(FOREVER))


def test_garbage(env):
    """Texts with changes at random are kernels, or are refused."""
    chosen = random.Random(0)
    text = MATMUL.proto.program.contents
    for _ in range(30):
        changed = bytearray(text)
        for _ in range(chosen.randrange(1, 4)):
            changed[chosen.randrange(len(text))] = chosen.randrange(1, 256)
        try:
            env.reset(benchmark=program(bytes(changed)))
        except (BenchmarkInitError, ValueError, ServiceError) as error:
            assert "Session" not in str(error)


def test_file(env, tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_bytes(MATMUL.proto.program.contents)
    env.reset(benchmark=f"file://{path}")
    first = env.ir
    env.reset(benchmark=env.make_benchmark(path))
    assert env.ir == first
    assert env.observation["IsCorrect"]


@pytest.mark.parametrize("element", ["f32", "f64", "i32", "i64"])
def test_types(env, element):
    suffix = element[0]
    body = f"""
    linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      outs(%a : memref<64x{element}>) {{
    ^bb0(%x: {element}):
      %y = arith.add{suffix} %x, %x : {element}
      linalg.yield %y : {element}
    }}
    """
    env.reset(benchmark=kernel(body, f"%a: memref<64x{element}>"))
    env.step(env.action_space["vectorize"])
    assert "vector" in env.ir
    assert env.observation["IsCorrect"]
