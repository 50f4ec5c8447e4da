import os
import subprocess

import pytest

from compiler_gym.envs.gcc import get_gcc
from compiler_gym.envs.gcc.gcc import forget_oldest
from compiler_gym.errors import EnvironmentNotSupported

DOCKER = r"""#!/bin/sh
echo "$*" >> "{log}"
case "$1 $2" in
  "image inspect") [ "$3" != missing ] && echo sha256:1234 ;;
  "pull "*) echo "no such image: $2" >&2; exit 1 ;;
  "run "*)
    while [ "$1" != gcc ]; do
      case "$1" in
        --workdir=*) cd "${{1#--workdir=}}" ;;
        image) ;;
      esac
      shift
    done
    shift
    exec "{gcc}" "$@" ;;
esac
"""


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_gcc_of_the_machine():
    gcc = get_gcc()
    assert gcc.version.startswith("gcc")
    assert gcc.bin.startswith("/")
    assert gcc.version in gcc.identity


def test_cc_selects_the_compiler(fake_gcc, monkeypatch):
    monkeypatch.setenv("CC", str(fake_gcc.path))
    assert get_gcc().version == "gcc (Fake) 12.0.0"
    assert get_gcc("gcc").version != "gcc (Fake) 12.0.0"


@pytest.mark.parametrize("bin", ["gcc-of-nobody", "/nowhere/gcc"])
def test_missing(bin):
    with pytest.raises(EnvironmentNotSupported, match=rf"'{bin}'.*apt-get install"):
        get_gcc(bin)


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("", 0o600, "executed"),
        ("echo clang version 22.1.8", 0o755, "not a GCC.*22.1.8"),
        ("echo no libraries >&2; exit 127", 0o755, r"[\s\S]*no libraries"),
    ],
)
def test_unusable(tmp_path, text, mode, reason):
    script(tmp_path / "gcc", f"#!/bin/sh\n{text}\n").chmod(mode)
    with pytest.raises(EnvironmentNotSupported, match=reason):
        get_gcc(tmp_path / "gcc")


def test_limits(fake_gcc, tmp_path):
    gcc = get_gcc(fake_gcc.path)
    with pytest.raises(subprocess.TimeoutExpired):
        gcc.run(["--param=asan-stack=0"], tmp_path, timeout=0.1)
    gcc = get_gcc(script(tmp_path / "gcc", "#!/bin/sh\necho Free Software Foundation; ulimit -v\n"))
    assert gcc.run([], tmp_path).split()[-1] == str(4 * 2**20)


class TestDocker:
    @pytest.fixture
    def docker(self, fake_gcc, tmp_path, monkeypatch):
        log = tmp_path / "docker.log"
        (tmp_path / "bin").mkdir()
        script(tmp_path / "bin/docker", DOCKER.format(log=log, gcc=fake_gcc.path))
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
        return log

    def test_image(self, docker, tmp_path):
        gcc = get_gcc("docker:image")
        assert gcc.version == "gcc (Fake) 12.0.0"
        assert "sha256:1234" in gcc.identity
        (tmp_path / "x.c").write_text("program")
        gcc.run(["-O2", "-S", "x.c", "-o", "x.s"], tmp_path)
        assert (tmp_path / "x.s").read_text() == " -O2\nprogram"
        assert "--network=none" in docker.read_text()

    def test_container_is_killed_at_the_time_limit(self, docker, tmp_path):
        gcc = get_gcc("docker:image")
        with pytest.raises(subprocess.TimeoutExpired):
            gcc.run(["--param=asan-stack=0"], tmp_path, timeout=0.1)
        assert "\nkill compiler_gym-" in docker.read_text()

    @pytest.mark.usefixtures("docker")
    def test_no_image(self):
        with pytest.raises(EnvironmentNotSupported, match=r"'missing'[\s\S]*no such image"):
            get_gcc("docker:missing")

    def test_no_docker(self, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(EnvironmentNotSupported, match="'docker'"):
            get_gcc("docker:gcc:13")


def test_oldest_are_forgotten(tmp_path):
    for number in range(10):
        path = tmp_path / str(number)
        path.write_bytes(bytes(100))
        os.utime(path, (number, number))
    forget_oldest(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    forget_oldest(tmp_path, 999)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["6", "7", "8", "9"]
