"""Random bytes and mutated bitcode as programs of the LLVM service."""

import random
import time

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import ServiceError
from tests.fuzzing.fuzzing import SECONDS, SEED

KNOWN = "benchmark://kernels-v0/sha256"
STEPS = 5


@pytest.fixture(scope="module")
def env():
    with LlvmEnv(observation_space="IrInstructionCount") as env:
        yield env


@pytest.fixture(scope="module")
def known(env):
    """A program's bitcode, and the instruction counts of some steps on it."""
    env.reset(benchmark=KNOWN)
    return env.observation["Bitcode"].tobytes(), counts_of(env)


def counts_of(env):
    """The instruction counts of a known session."""
    counts = [env.reset(benchmark=KNOWN)]
    for action in range(STEPS):
        counts.append(env.step(action)[0])
    return counts


def mutated(generator: random.Random, program: bytes) -> bytes:
    """Changes, removes, repeats or cuts some of the bytes."""
    data = bytearray(program)
    for _ in range(generator.choice([1, 1, 2, 8, 64])):
        position = generator.randrange(len(data))
        length = generator.randrange(1, 32)
        match generator.randrange(5):
            case 0:
                data[position] ^= 1 << generator.randrange(8)
            case 1:
                data[position : position + length] = generator.randbytes(length)
            case 2:
                del data[position : position + length]
            case 3:
                data[position:position] = data[position : position + length]
            case _:
                data[position] = generator.choice([0, 1, 0x7F, 0x80, 0xFF])
        if not data:
            return b""
    return bytes(data)


def random_bytes(generator: random.Random, _program: bytes) -> bytes:
    """Random bytes, some of which begin as bitcode does."""
    magic = generator.choice([b"", b"BC\xc0\xde", b"\xde\xc0\x17\x0b", b"; ModuleID = 'x'\n"])
    return magic + generator.randbytes(generator.randrange(2000))


@pytest.mark.parametrize("make", [random_bytes, mutated])
def test_programs(env, known, make):
    """Whatever a program is, it is refused, or it is one; the service goes on."""
    print(f"COMPILER_GYM_FUZZ_SEED={SEED}")
    program, counts = known
    generator = random.Random(SEED)
    service = env.service
    end = time.monotonic() + SECONDS
    tried = accepted = 0
    while time.monotonic() < end:
        tried += 1
        benchmark = Benchmark.from_file_contents(
            f"benchmark://fuzz-v0/{tried}", make(generator, program)
        )
        try:
            env.reset(benchmark=benchmark)
        except (ServiceError, ValueError, TimeoutError):
            continue
        accepted += 1
        for _ in range(STEPS):
            if env.step(generator.randrange(env.action_space.n))[2]:
                break
    print(f"{tried} programs, {accepted} accepted")
    assert tried > 0
    assert env.service is service
    assert counts_of(env) == counts
