"""Random steps with every pass that LLVM lists, safe or not, by several sessions of one service.

Passes crash, and nobody else notices.
"""

import random
import shutil
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark
from compiler_gym.service import ConnectionOpts
from compiler_gym.util.commands import run_command
from compiler_gym.util.llvm_tools import llvm_stress_path
from tests.effort import effort
from tests.fuzzing.fuzzing import SECONDS, SEED
from tests.processes import descendants, is_running, wait_until

MIN_STEPS = effort(400, 3000)
SESSIONS = 4
STEP_SECONDS = 1
EPISODE_STEPS = 50
# How often a session is forked, and how far the copy is played.
FORK_PROBABILITY = 0.01
FORK_STEPS = 5
HARMLESS = [f"function({name})" for name in ("mem2reg", "sroa", "early-cse", "dce", "adce")]


def find_programs(folder: Path) -> list[Benchmark | str]:
    """Built-in programs, and two each of llvm-stress and, if it is installed, of csmith."""
    with LlvmEnv() as env:
        programs = [*map(str, env.datasets["benchmark://kernels-v0"].benchmark_uris())]
    for seed in ("0", "1"):
        path = folder / f"stress-{seed}.ll"
        run_command([llvm_stress_path(), f"--seed={seed}", "--size=300", "-o", path], 60)
        programs.append(make_benchmark(path))
        if csmith := shutil.which("csmith"):
            path = folder / f"csmith-{seed}.c"
            run_command([csmith, "--seed", seed, "--max-funcs", "4", "-o", path], 60, cwd=folder)
            programs.append(make_benchmark(path, copt=["-w", "-I/usr/include/csmith"]))
    return programs


class Players:
    """Sessions that make random steps until there are enough, and one that makes harmless ones.

    Attributes:
        steps: The number of random steps.
        deaths: How often a session ended in a step, by error and action.
        sentinel_episodes: The number of harmless episodes, all with the same results.
    """

    def __init__(self, address: str, programs: list[Benchmark | str]):
        self.steps = 0
        self.deaths = Counter()
        self.sentinel_episodes = 0
        self._address = address
        self._programs = programs
        self._end = time.monotonic() + SECONDS
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    def play(self) -> None:
        with ThreadPoolExecutor(SESSIONS + 1) as pool:
            sentinel = pool.submit(self._watch)
            players = [pool.submit(self._play, SEED + number) for number in range(SESSIONS)]
            try:
                for player in players:
                    player.result()
            finally:
                self._is_over.set()
            sentinel.result()

    def _is_enough(self) -> bool:
        is_late = self.steps >= MIN_STEPS and time.monotonic() > self._end
        return is_late or self._is_over.is_set()

    def _play(self, seed: int) -> None:
        generator = random.Random(seed)
        with LlvmEnv(service=self._address, observation_space="Autophase") as env:
            while not self._is_enough():
                env.reset(benchmark=generator.choice(self._programs))
                for _ in range(EPISODE_STEPS):
                    if generator.random() < FORK_PROBABILITY:
                        with env.fork() as copy:
                            self._steps(copy, generator, FORK_STEPS)
                    if not self._steps(env, generator, 1):
                        break

    def _steps(self, env: LlvmEnv, generator: random.Random, count: int) -> bool:
        """Makes steps. Returns whether the session lives on."""
        for _ in range(count):
            action = generator.randrange(env.action_space.n)
            try:
                *_, done, info = env.step(action, timeout=STEP_SECONDS)
            except ValueError:  # A pass that needs parameters.
                done = False
            with self._lock:
                self.steps += 1
            if done:
                self._check_end(env.action_space.names[action], info)
                return False
        return True

    def _check_end(self, name: str, info: dict) -> None:
        # A session may only end by what it was asked to do itself. The client gives up on a machine
        # that is too busy to end a session in time.
        own = [name, "observation", "the end of the step", "did not reply"]
        assert any(text in info["error_details"] for text in own), f"{name}: {info}"
        with self._lock:
            self.deaths[info["error_type"], name] += 1

    def _watch(self) -> None:
        """Plays the same episode until the others are done."""
        expected = None
        with LlvmEnv(service=self._address) as env:
            while not self._is_over.is_set():
                env.reset(benchmark="benchmark://kernels-v0/sha256")
                hashes = []
                for name in HARMLESS:
                    *_, done, info = env.step(env.action_space.names.index(name))
                    assert not done, info
                    hashes.append(env.observation["IrSha1"])
                expected = expected or hashes
                assert hashes == expected
                self.sentinel_episodes += 1
                time.sleep(0.05)


@pytest.mark.timeout(max(300, 30 * SECONDS))
def test_random_steps(tmp_path):
    policy = tmp_path / "every_pass.yaml"
    policy.write_text("exclude: []\n")
    flags = ["--session_memory_mib=1000", "--pristine_sessions_mib=2000"]
    settings = ConnectionOpts(script_args=[f"--action_policy={policy}", *flags])
    programs = find_programs(tmp_path)
    with LlvmEnv(connection_settings=settings) as owner:
        service = owner.service.service
        players = Players(f"localhost:{service.port}", programs)
        players.play()
        assert service.exit_code() is None
        processes = [service.pid, *descendants(service.pid)]
    wait_until(lambda: not any(map(is_running, processes)))
    print(f"{players.steps} steps, seed {SEED}", *players.deaths.most_common(), sep="\n")
    assert players.sentinel_episodes > 0
    # trigger-crash-module and others do, if steps do what they should.
    assert players.deaths.total() > effort(1, 10)
