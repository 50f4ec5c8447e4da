"""The files of examples/many_machines/ are what Ray's cluster launcher and KubeRay read."""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pytest
import ray
import yaml

from compiler_gym.distributed import PoolError, ray_backend
from compiler_gym.util.runfiles_path import runfiles_path

FOLDER = runfiles_path("examples/many_machines")


def read(name):
    return yaml.safe_load((FOLDER / name).read_text())


def test_cluster_yaml_matches_the_schema_of_ray():
    path = Path(ray.__file__).parent / "autoscaler/ray-schema.json"
    jsonschema.validate(read("cluster.yaml"), json.loads(path.read_text()))


def test_all_files_have_the_same_image_and_version():
    cluster, kuberay = read("cluster.yaml"), read("kuberay.yaml")
    groups = [kuberay["spec"]["headGroupSpec"], *kuberay["spec"]["workerGroupSpecs"]]
    images = {each["template"]["spec"]["containers"][0]["image"] for each in groups}
    assert images == {cluster["docker"]["image"]}
    assert kuberay["spec"]["rayVersion"] == version("ray")
    for name in ("Dockerfile", "apptainer.def"):
        assert f"ray[default]=={version('ray')}" in (FOLDER / name).read_text()


def test_head_has_no_workers():
    (command,) = [
        each for each in read("cluster.yaml")["head_start_ray_commands"] if "--head" in each
    ]
    assert "--num-cpus=0" in command
    assert read("kuberay.yaml")["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_slurm_script_is_shell():
    subprocess.run(["bash", "-n", FOLDER / "slurm.sh"], check=True)


@pytest.mark.parametrize("address, found", [("local", "Ray to start here"), ("a:1", "'a:1'")])
def test_a_cluster_that_is_not_there(monkeypatch, address, found):
    def fail(**_):
        raise ConnectionError("no answer\nmore")

    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(PoolError, match=rf"{found}, got ConnectionError: no answer; try"):
        ray_backend.RayBackend(address)


def test_an_old_ray_is_an_error(monkeypatch):
    monkeypatch.setattr(ray, "__version__", "2.9.3")
    with pytest.raises(PoolError, match=r"expected Ray 2\.60 or later, found 2\.9\.3; try"):
        ray_backend.RayBackend("auto")
