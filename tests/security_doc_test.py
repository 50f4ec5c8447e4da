"""A service for other machines, made and used as docs/security.md says."""

import shlex
import subprocess

from compiler_gym.util.runfiles_path import find_service_binary
from tests.document_code import block_with, code_blocks, run_python
from tests.service.service_program import ServiceProgram

DOCUMENT = "docs/security.md"


def test_service_for_other_machines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = code_blocks(DOCUMENT, "sh")
    subprocess.run(block_with("openssl rand", commands), shell=True, check=True)
    command = block_with("--tls_key=service.key", commands).replace("\\\n", "")
    name, *flags = shlex.split(command)
    flags[flags.index("--port=8080")] = "--port=0"
    service = ServiceProgram(tmp_path / "service", *flags, binary=find_service_binary(name))
    try:
        (client,) = code_blocks(DOCUMENT, "python")
        client = client.replace("HOSTNAME:8080", f"localhost:{service.port}")
        assert int(run_python(client, tmp_path)) > 0
    finally:
        service.stop()
