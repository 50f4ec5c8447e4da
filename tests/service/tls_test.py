"""Services for other machines: encrypted connections, and certificates on both sides."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from compiler_gym.errors import ServiceTransportError
from compiler_gym.service import CompilerGymServiceConnection, ConnectionOpts
from compiler_gym.service.proto import GetVersionRequest
from tests.service.other_user import ask_by_grpc
from tests.service.service_program import ServiceProgram

TOKEN = "0123456789abcdef0123456789abcdef"


class Pair(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


def _openssl(*args: str | Path) -> None:
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """Signs certificates.

    Args:
        folder: Where to put files.
        name: Its name.
    """

    def __init__(self, folder: Path, name: str):
        self._folder = folder
        self._own = Pair(folder / f"{name}.pem", folder / f"{name}.key")
        self.certificate = self._own.certificate
        self._request(self._own, name, "-x509", "-days", "2")

    @staticmethod
    def _request(pair: Pair, name: str, *args: str | Path) -> None:
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        files = ["-keyout", pair.key, "-out", pair.certificate]
        _openssl("req", *kind, "-subj", f"/CN={name}", *files, *args)

    def sign(self, name: str) -> Pair:
        """Makes a certificate, which is good for 127.0.0.1 and localhost."""
        request = Pair(self._folder / f"{name}.csr", self._folder / f"{name}.key")
        self._request(request, name)
        names = self._folder / "names"
        names.write_text("subjectAltName = IP:127.0.0.1, DNS:localhost\n")
        certificate = self._folder / f"{name}.pem"
        signer = ["-CA", self._own.certificate, "-CAkey", self._own.key, "-CAcreateserial"]
        files = ["-in", request.certificate, "-out", certificate, "-extfile", names]
        _openssl("x509", "-req", "-days", "2", *signer, *files)
        return Pair(certificate, request.key)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder) -> Authority:
    return Authority(folder, "authority")


@pytest.fixture(scope="module")
def stranger(folder) -> Authority:
    return Authority(folder, "stranger")


@pytest.fixture(scope="module")
def server(authority) -> Pair:
    return authority.sign("server")


@pytest.fixture
def start(tmp_path, server):
    """Starts a service with TLS and further flags, for all interfaces."""
    services = []

    def start_one(*args: str) -> ServiceProgram:
        tls = [f"--tls_certificate={server.certificate}", f"--tls_key={server.key}"]
        services.append(ServiceProgram(tmp_path / "service", *tls, *args))
        return services[-1]

    yield start_one
    for service in services:
        service.stop()


def version(service: ServiceProgram, host: str = "127.0.0.1", **opts) -> str:
    opts = ConnectionOpts(init_max_attempts=1, rpc_max_retries=0, direct_channel=False, **opts)
    with CompilerGymServiceConnection(f"{host}:{service.port}", opts) as connection:
        return connection(connection.stub.GetVersion, GetVersionRequest()).compiler_version


def test_tls_and_a_token(start, authority, stranger, tmp_path):
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    service = start("--host=0.0.0.0", f"--token_file={token}")
    ca = authority.certificate
    assert version(service, tls_ca_file=ca, token=TOKEN) == "toy 1.0"
    assert version(service, "localhost", tls_ca_file=ca, token_file=token) == "toy 1.0"
    with pytest.raises(PermissionError, match="token"):
        version(service, tls_ca_file=ca)
    with pytest.raises(ServiceTransportError):
        version(service, tls_ca_file=stranger.certificate, token=TOKEN)
    # Without TLS it is not even heard.
    with pytest.raises(ServiceTransportError):
        version(service, token=TOKEN)


def test_certificate_for_another_name(start, authority):
    """The name that the client uses has to be one of those in the certificate."""
    service = start("--host=0.0.0.0", "--insecure")
    assert version(service, tls_ca_file=authority.certificate) == "toy 1.0"
    with pytest.raises(ServiceTransportError):
        version(service, "127.0.0.2", tls_ca_file=authority.certificate)


def test_certificates_of_clients(start, authority, stranger):
    service = start("--host=0.0.0.0", f"--tls_client_ca={authority.certificate}")
    ca = authority.certificate
    for signer, is_known in ((authority, True), (stranger, False)):
        certificate, key = signer.sign(f"client of {signer.certificate.stem}")
        opts = {"tls_ca_file": ca, "tls_certificate_file": certificate, "tls_key_file": key}
        if is_known:
            assert version(service, **opts) == "toy 1.0"
        else:
            with pytest.raises(ServiceTransportError):
                version(service, **opts)
    with pytest.raises(ServiceTransportError):
        version(service, tls_ca_file=ca)


def test_tls_alone_does_not_identify_the_client(start, authority):
    with pytest.raises(RuntimeError, match="TLS without"):
        start("--host=0.0.0.0")
    # On this machine the kernel knows.
    service = start()
    assert version(service, tls_ca_file=authority.certificate) == "toy 1.0"


def test_unix_socket_is_not_encrypted(start, monkeypatch):
    socket = start().socket
    monkeypatch.chdir(socket.parent)  # A path of a socket has at most 107 characters.
    assert ask_by_grpc(f"unix:{socket.name}") == "toy 1.0"


def test_message_of_a_client_without_the_token_is_not_read(start, authority, tmp_path):
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    token_file.chmod(0o600)
    service = start(f"--token_file={token_file}")
    credentials = grpc.ssl_channel_credentials(authority.certificate.read_bytes())
    options = [("grpc.max_send_message_length", -1)]
    before = service.peak_memory()
    with grpc.secure_channel(service.address, credentials, options) as channel:
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as error:
                channel.unary_unary("/compiler_gym.CompilerGymService/AddBenchmark")(
                    bytes(128 << 20), timeout=100
                )
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=100) == b"\x08\x01"  # SERVING
    assert service.peak_memory() - before < 32 << 20


def test_malformed_certificate_of_a_client(tmp_path):
    path = tmp_path / "text"
    path.write_text("text")
    opts = ConnectionOpts(tls_ca_file=path)
    with pytest.raises(ValueError, match="PEM"):
        CompilerGymServiceConnection("127.0.0.1:1", opts)
