import json
import sys
import zipfile
from types import SimpleNamespace

import pytest

from compiler_gym.evaluation.policies import load_policy
from compiler_gym.tuning.policies.policy import Policy


def test_function_of_a_module_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_policy_module.py").write_text("def choose(seen):\n    return 7\nnumber = 3\n")
    assert load_policy("own_policy_module:choose")(None) == 7
    with pytest.raises(ValueError, match="got int"):
        load_policy("own_policy_module:number")
    with pytest.raises(ValueError, match="got NoneType"):
        load_policy("own_policy_module:chose")
    with pytest.raises(ImportError, match="no_such_module"):
        load_policy("no_such_module:choose")


def test_shipped_policy():
    assert isinstance(load_policy("sequence"), Policy)
    with pytest.raises(OSError, match="sequence"):
        load_policy("sequense")


def test_file_is_not_a_model(tmp_path):
    path = tmp_path / "model.zip"
    with pytest.raises(FileNotFoundError):
        load_policy(str(path))
    path.write_text("text")
    with pytest.raises(ValueError, match="PPO"):
        load_policy(str(path))
    with pytest.raises(ValueError, match="module:function"):
        load_policy(archived(path, learning_rate=1))


def archived(path, **settings):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps(settings))
    return str(path)


def test_model_without_stable_baselines(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(ImportError, match="pip install"):
        load_policy(archived(tmp_path / "model.zip", n_epochs=10))


@pytest.mark.parametrize(
    ("settings", "module", "algorithm"),
    [
        ({"n_epochs": 1}, "", "stable_baselines3.PPO"),
        ({"n_epochs": 1}, "stable_baselines3.common.policies", "stable_baselines3.PPO"),
        ({"n_epochs": 1}, "sb3_contrib.common.maskable.policies", "sb3_contrib.MaskablePPO"),
        ({"n_epochs": 1}, "sb3_contrib.common.recurrent.policies", "sb3_contrib.RecurrentPPO"),
        ({"exploration_fraction": 1}, "sb3_contrib.qrdqn.policies", "sb3_contrib.QRDQN"),
        ({"gae_lambda": 1, "cg_max_steps": 1}, "", "sb3_contrib.TRPO"),
    ],
)
def test_algorithm_of_a_model(tmp_path, monkeypatch, settings, module, algorithm):
    if module:
        settings = {**settings, "policy_class": {":type:": "type", "__module__": module}}
    path = archived(tmp_path / "model.zip", **settings)
    loaded = SimpleNamespace(load=lambda path, device: (str(path), device, algorithm))
    library, _, wanted = algorithm.partition(".")
    for name in ("stable_baselines3", "sb3_contrib"):
        found = SimpleNamespace(**({wanted: loaded} if name == library else {}))
        monkeypatch.setitem(sys.modules, name, found)
    assert load_policy(path) == (path, "cpu", algorithm)
