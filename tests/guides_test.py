"""The Python of docs/guides/ runs as it stands; see docs_test.py."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.document_code import blocks_of_pages, code_blocks, run_python

# Needs the plugin that is built there.
PAGES = [
    page for page in runfiles_path("docs/guides").glob("*.md") if page.name != "adding-a-pass.md"
]


@pytest.fixture(name="recorded", scope="module")
def fixture_recorded(tmp_path_factory):
    """A table of `compiler-gym record`."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "all.txt").write_text("sroa gvn\nsroa licm\n")
    words = ("record", "sha256", "--actions", "all.txt", "--output", "recorded", "--jobs", "1")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "compiler_gym", *words]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return folder / "recorded"


@pytest.mark.parametrize("block", blocks_of_pages(PAGES))
def test_block(block, tmp_path, request, monkeypatch):
    if '"recorded"' in block:
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
        shutil.copytree(request.getfixturevalue("recorded"), tmp_path / "recorded")
    output = run_python(block, tmp_path)
    if "class FewerBlocks(Reward)" in block:
        assert re.fullmatch(r"[1-9]\d*\.0 blocks fewer\n", output), output


def test_figures_of_the_vocabularies():
    """They are those of the card that the training wrote."""
    card = runfiles_path("compiler_gym/data/vocabularies/README.md").read_text(encoding="utf-8")
    page = runfiles_path("docs/guides/vocabularies.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert [row for row in rows if row not in page] == []


# A learner with the interface of Stable-Baselines3, whose actions are random. With the library:
# tests/examples/library_trainers_test.py.
RANDOM_LEARNER = {
    "stable_baselines3/__init__.py": """
class PPO:
    def __init__(self, policy, env, n_steps, **settings):
        self._env, self._n_steps = env, n_steps

    def predict(self, observation, deterministic=False):
        assert self._env.observation_space.contains(observation)
        return self._env.action_space.sample(), None

    def learn(self, total_timesteps):
        self._env.reset()
        for _ in range(self._n_steps):
            self._env.step_async([self._env.action_space.sample() for _ in range(8)])
            *_, ended, _ = self._env.step_wait()
        assert ended.all()

    def save(self, path):
        open(path, "w").close()
""",
    "stable_baselines3/common/vec_env.py": """
class VecEnv:
    def __init__(self, count, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space
        self._seeds = [None] * count

    def _reset_seeds(self):
        pass
""",
}


def test_training_script(tmp_path):
    """The script trains and judges as it stands, here with fewer steps."""
    (script,) = code_blocks("docs/guides/learning.md", "python train.py")
    for name, text in RANDOM_LEARNER.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shorter = script.replace("30, 14_400", "3, 24").replace("n_steps=60", "n_steps=3")
    assert "3, 24" in shorter
    output = run_python(shorter, tmp_path)
    assert re.findall(r"^(\w+): [\d.]+% of .*of 21 episodes end below it$", output, re.M) == [
        "untrained",
        "trained",
    ]
    assert (tmp_path / "ppo.zip").exists()
