"""``compiler-gym service`` and ``compiler-gym datasets``."""

import os
import re
import signal
import socket
import subprocess

import compiler_gym
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from tests.cli.conftest import serving
from tests.processes import descendants, is_running, kill_all, wait_until


def test_serves_until_ctrl_c(run):
    with serving("service", "--port", "0") as (process, address):
        with compiler_gym.make("llvm-v0", service=address) as env:
            env.reset()
            assert env.observation["IrInstructionCount"] > 0
        assert f"address   {address}" in run("service", "--service", address).stdout
        started = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=100)[1] == "Ctrl-C ends it.\n"
    assert process.returncode == 130
    wait_until(lambda: not any(map(is_running, started)))


def test_a_service_with_a_token_and_tls(run, fails, environment):
    (environment / "token").write_text("0123456789abcdef")
    (environment / "token").chmod(0o600)
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", "service.key", "-out", "service.pem")
    subprocess.run(["openssl", "req", "-x509", *kind, *names, *files], check=True)
    own = {"token_file": "token", "tls_certificate": "service.pem", "tls_key": "service.key"}
    flags = [f"--{name}={environment / file}" for name, file in own.items()]
    settings = ConnectionOpts(script_args=["--port=0", *flags])
    with compiler_gym.make("llvm-v0", connection_settings=settings) as env:
        folder = env.unwrapped.service.service.working_dir
        address = f"localhost:{(folder / 'port.txt').read_text().strip()}"
        with_tls = f"{address},tls_ca_file=service.pem"
        said = run("service", "--service", f"{with_tls},token_file=token").stdout
        assert f"address   {address}\n" in said
        assert "token" in fails("service", "--service", with_tls)


def test_a_service_that_dies_ends_the_program():
    with serving("service", "--port", "0") as (process, _):
        kill_all(descendants(process.pid))
        assert "The service has ended: " in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_no_service_and_no_free_port(fails):
    assert "connect" in fails("service", "--service", "localhost:1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Cannot listen at port {port}: Address" in fails("service", "--port", str(port))


def test_list_of_datasets(run, environment):
    table, _, rest = run("datasets", "list").stdout.partition("\n\n")
    assert table.startswith("dataset ")
    assert max(map(len, table.splitlines())) <= 80
    for row in (
        r"kernels-v0 +28 +[\d.]+ (kB|B) +MIT +yes +built in",
        r"programs-v0 +16 +- +Several +yes +Python package…",
        r"cbench-v1 +23 +- +BSD 3-Clause +some +fbaipublicfiles.com",
        r"npb-v0 +122 +- +NASA Open… +no +fbaipublicfiles.com",
        r"anghabench-v1 +1041333 +- +Unknown +no +github.com",
        r"csmith-v0 + 0 B +BSD +yes +csmith",
        r"llvm-stress-v0 + 0 B +Apache… +no +llvm-stress",
    ):
        assert re.search(f"^{row}$", table, re.M), table
    assert "without a number have no end" in rest


def test_a_dataset_that_cannot_be_installed_leaves_the_others(run, environment, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(environment / "data"))
    (environment / "data" / "benchmark").mkdir(parents=True)
    (environment / "data" / "benchmark" / "cbench-v1").touch()  # Where its folder would be.
    done = run("datasets", "install", "cbench-v1", "kernels-v0", code=1)
    assert "kernels-v0 is installed: 28 programs" in done.stdout
    assert done.stderr.startswith("benchmark://cbench-v1 failed: ")


def test_datasets(run, environment):
    assert "is installed: 28 programs" in run("datasets", "install", "kernels-v0").stdout
    of_part = run("datasets", "install", "kernels-v0", "--part", "test")
    assert "is installed: 7 programs of test" in of_part.stdout
    assert "is removed: " in run("datasets", "remove", "npb-v0").stdout


def test_failed_installation_is_reported(fails, environment, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_DATASET_MIRROR", str(environment / "nothing"))
    line = fails("datasets", "install", "npb-v0")
    assert "Cannot install dataset benchmark://npb-v0" in line
    assert "COMPILER_GYM_DATASET_MIRROR" in line
