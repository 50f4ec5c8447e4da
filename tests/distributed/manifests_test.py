"""The files of examples/many_machines/ are what Ray's cluster launcher and KubeRay read."""

import json
import os
import socket
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


# The fields of KubeRay's resource definition, and of those of Kubernetes, that the manifest has.
_FIELDS = """
apiVersion kind metadata name spec rayVersion authOptions mode headGroupSpec workerGroupSpecs
groupName replicas minReplicas maxReplicas rayStartParams num-cpus template containers image ports
containerPort resources limits requests cpu memory volumeMounts mountPath volumes
persistentVolumeClaim claimName
"""


def fields(value):
    """Yields the names of all fields."""
    for each in value if isinstance(value, list) else ():
        yield from fields(each)
    for name, each in value.items() if isinstance(value, dict) else ():
        yield name
        yield from fields(each)


def test_kuberay_yaml_has_fields_that_kuberay_knows():
    manifest = read("kuberay.yaml")
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayCluster")
    assert {*fields(manifest)} <= {*_FIELDS.split()}
    for group in manifest["spec"]["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        pod = group["template"]["spec"]
        mounts = {each["name"] for each in pod["containers"][0]["volumeMounts"]}
        assert mounts == {each["name"] for each in pod["volumes"]}


def test_nodes_expect_a_token_and_the_head_has_no_workers():
    cluster, kuberay = read("cluster.yaml"), read("kuberay.yaml")
    assert "--env=RAY_AUTH_MODE=token" in cluster["docker"]["run_options"]
    assert cluster["file_mounts"] == {"/root/.ray/auth_token": "~/.ray/auth_token"}
    assert kuberay["spec"]["authOptions"] == {"mode": "token"}
    assert "export RAY_AUTH_MODE=token" in (FOLDER / "slurm.sh").read_text()
    subprocess.run(["bash", "-n", FOLDER / "slurm.sh"], check=True)
    (command,) = [each for each in cluster["head_start_ray_commands"] if "--head" in each]
    assert "--num-cpus=0" in command
    assert kuberay["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_all_files_have_the_same_image_and_version():
    cluster, kuberay = read("cluster.yaml"), read("kuberay.yaml")
    groups = [kuberay["spec"]["headGroupSpec"], *kuberay["spec"]["workerGroupSpecs"]]
    images = {each["template"]["spec"]["containers"][0]["image"] for each in groups}
    assert images == {cluster["docker"]["image"]}
    assert kuberay["spec"]["rayVersion"] == version("ray")
    for name in ("Dockerfile", "apptainer.def"):
        assert f"ray[default]=={version('ray')}" in (FOLDER / name).read_text()


def test_ray_on_this_machine_has_a_token_of_its_own(monkeypatch):
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    tokens = []

    def init(**_):
        tokens.append(os.environ.get("RAY_AUTH_TOKEN"))

    monkeypatch.setattr(ray, "init", init)
    for address in ("local", "local", "auto"):
        ray_backend._connect(ray, address)
    assert len({*tokens}) == 3
    assert [len(each) for each in tokens[:2]] == [64, 64]
    assert tokens[2] is None  # That of the cluster, which Ray finds.
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_an_address_where_nobody_listens():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(PoolError, match=address):
            ray_backend.RayBackend(address)


@pytest.mark.parametrize("address, found", [("local", "Ray to start here"), ("auto", "'auto'")])
@pytest.mark.parametrize("error", [ConnectionError, Exception])
def test_a_cluster_that_is_not_there(monkeypatch, address, found, error):
    def fail(**_):
        raise error("no answer\nmore")

    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(PoolError, match=rf"{found}.*no answer"):
        ray_backend.RayBackend(address)


def test_an_old_ray_is_an_error(monkeypatch):
    monkeypatch.setattr(ray, "__version__", "2.9.3")
    with pytest.raises(PoolError, match=r"2\.9\.3"):
        ray_backend.RayBackend("auto")
