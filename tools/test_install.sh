#!/usr/bin/env bash
# Installs wheels on a bare system that has Python and nothing else, and uses them there:
#
#   tools/test_install.sh trixie                                  # Debian 13; also bookworm
#   PYTHON=~/.pyenv/versions/3.10.13 tools/test_install.sh noble     # Ubuntu, another Python
#   SB3=1 tools/test_install.sh bookworm                          # and PPO of Stable-Baselines3
#   tools/test_install.sh container                               # the steps of the Containerfile
#   tools/test_install.sh devcontainer                            # those of .devcontainer/Containerfile
#   tools/test_install.sh openenv                                 # those of OpenEnv's Dockerfile
#   tools/test_install.sh arm64                                   # on the machine of emulate_arm64.sh
#
# The system is made by debootstrap in a folder of its own, which takes root. It has no compiler and
# no header of C, and gets none. Every command is printed before it runs, so the output is the record.
# WHEELS is the folder of the wheels, bazel-bin by default. PIP_CACHE keeps pip's downloads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=${1:?usage: tools/test_install.sh SUITE, e.g. trixie}
wheels=${WHEELS:-bazel-bin}
emulated= tag=manylinux*x86_64
containerfile= recipe=
[ "$suite" != openenv ] || { recipe=compiler_gym/openenv/space/Dockerfile suite=trixie; }
[ "$suite" != container ] || { suite=bookworm wheels=${WHEELS:-bazel-bin/release} containerfile=$wheels/Containerfile; }
[ "$suite" != devcontainer ] || { suite=bookworm containerfile=.devcontainer/Containerfile; }
debian=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* | grep -v snapshot | head -1 | tr -d ' ')
case $suite in
  # debootstrap of Debian has no script of newer Ubuntus, which are made as older ones are.
  jammy | noble | resolute) mirror=${MIRROR:-http://archive.ubuntu.com/ubuntu} script=/usr/share/debootstrap/scripts/gutsy ;;
  *) mirror=${MIRROR:-$debian} script= ;;
esac
if [ "$suite" = arm64 ]; then
  emulated=y
  tag=manylinux_2_31_aarch64
fi
# Kept for the next time: bare systems by their suites.
base=${BASES:-/var/tmp/compiler_gym-bases}/$suite

say() { printf '\n\033[1m%s\033[0m\n' "test_install: $*"; }
fail() { echo "test_install: $*" >&2; exit 1; }
[ -n "$emulated" ] || [ "$(id -u)" = 0 ] || fail "expected root, which debootstrap and chroot need"
[ "$containerfile" = .devcontainer/Containerfile ] || compgen -G "$wheels/compiler_gym-*$tag.whl" > /dev/null ||
  fail "expected wheels for $tag in $wheels; try bazel build //:wheel //:clang_wheel //:mlir_wheel"

if [ -z "$emulated" ] && [ ! -e "$base.made" ]; then
  say "making $suite from $mirror"
  mkdir -p "$(dirname "$base")"
  rm -rf --one-file-system "$base"
  debootstrap --variant=minbase --components=main${script:+,universe} \
    --include=ca-certificates,python3,python3-venv \
    "$suite" "$base" "$mirror" $script > "$base.log" || { tail "$base.log"; exit 1; }
  touch "$base.made"
fi

run=$(mktemp -d /var/tmp/compiler_gym-install.XXXX)
clean_up() {
  for name in pip-cache dev/shm dev/pts dev proc; do umount -l "$run/$name" 2>/dev/null || true; done
  rm -rf --one-file-system "$run"
}
trap clean_up EXIT
# Makes a copy of the bare system.
make_system() {
  local name file
  cp -a "$base/." "$run/"
  for name in proc dev dev/pts dev/shm; do mkdir -p "$run/$name" && mount --bind "/$name" "$run/$name"; done
  mkdir "$run/pip-cache"
  [ -z "${PIP_CACHE:-}" ] || mount --bind "$PIP_CACHE" "$run/pip-cache"
  # How this machine reaches the package index.
  install -D /etc/ssl/certs/ca-certificates.crt "$run/etc/ssl/certs/ca-certificates.crt"
  cp /etc/resolv.conf /etc/hosts "$run/etc/"
  for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
    [ ! -e "$file" ] || install -D "$file" "$run$file"
  done
  [ -z "${PYTHON:-}" ] || { mkdir -p "$run$PYTHON" && cp -a "$PYTHON/." "$run$PYTHON/"; }
}

# Downloads what the wheels need, because the emulated machine has no network.
download_for_arm64() {
  local python
  python=$(sed -n '/^Package: python3$/,/^$/s/^Version: \([0-9]*\.[0-9]*\).*/\1/p' .sysroot-arm64/var/lib/dpkg/status)
  say "downloading what the wheels need with Python $python"
  .venv/bin/python3 -m pip download --quiet --disable-pip-version-check --only-binary=:all: \
    --platform $tag --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 \
    --python-version "$python" --find-links "$wheels" --dest "$run/wheels" \
    "compiler_gym[clang,mlir] @ file://$(realpath "$wheels"/compiler_gym-*$tag.whl)"
}

mkdir -p "$run/root"
[ -n "$emulated" ] || make_system
mkdir -p "$run/wheels"
cp "$wheels"/compiler_gym*$tag.whl "$run/wheels/" 2>/dev/null || [ -n "$containerfile" ]
[ -z "$emulated" ] || download_for_arm64
python=${PYTHON:+$PYTHON/bin/}python3
cp compiler_gym/data/kernels-v0/sha256/program.c "$run/root/sha256.c"
cat > "$run/root/scale.c" <<'END'
int sum(const int *numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) total += numbers[i] * 8;
  return total;
}

int scale(int *numbers, int count) {
  for (int i = 0; i < count; i++) numbers[i] *= sum(numbers, count);
  return count;
}
END
printf '#include <string>\nint count(const std::string &words) { return words.size(); }\n' > "$run/root/words.cc"
cat > "$run/root/ppo.py" <<'END'
import compiler_gym
from compiler_gym.vector.stable_baselines import StableBaselinesVecEnv
from compiler_gym.wrappers import AutophaseNorm
from stable_baselines3 import PPO

envs = compiler_gym.make_vec(
    "llvm-autophase-ic-v0", 4, max_episode_steps=20, autoreset_mode="SameStep", wrappers=[AutophaseNorm]
)
PPO("MlpPolicy", StableBaselinesVecEnv(envs), n_steps=50, device="cpu", verbose=1).learn(2_000)
envs.close()
END
cat > "$run/root/results.py" <<'END'
import compiler_gym

with compiler_gym.make("llvm-autophase-ic-v0", benchmark="benchmark://kernels-v0/sha256") as env:
    env.reset()
    env.multistep([env.action_space[name] for name in ("sroa", "instcombine", "simplifycfg")])
    with open("results.csv", "w") as file:
        compiler_gym.CompilerEnvStateWriter(file).write_state(env.state, flush=True)
END
# The ten lines of the README.
awk '/^```python/ { inside = 1; next } /^```/ { if (inside) exit } inside' README.md > "$run/root/ten_lines.py"

mapfile -t settings < <(env | grep -E '^(PIP_[A-Z_]*|SSL_CERT[A-Z_]*|REQUESTS_CA_BUNDLE|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy)=' | grep -v '^PIP_CACHE=\|^PIP_FIND_LINKS=' || true)
# Runs a command in the system, or adds it to those that the emulated machine will run.
inside() {
  if [ -n "$emulated" ]; then
    printf 'echo; echo %q; %s || exit\n' "\$ $*" "(${*/#pip install/pip install --no-index})" >> "$run/root/steps.sh"
    return
  fi
  say "$ $*"
  env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/root/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PIP_CACHE_DIR=/pip-cache PIP_ROOT_USER_ACTION=ignore DEBIAN_FRONTEND=noninteractive \
    ${settings:+"${settings[@]}"} chroot "$run" /bin/bash -c "cd /root && $*"
}

# A container tool would do these steps, which a chroot does where there is none. The base has more
# than debian:12-slim: python3 and python3-venv, which the steps install. It lacks Debian's security
# updates, which debian:12 names as a source.
if [ -n "$containerfile" ]; then
  context=$wheels user= check="bash /setup/tools/setup.sh --packages"
  [ "$containerfile" != .devcontainer/Containerfile ] || context=.
  echo "deb ${mirror%/debian*}/debian-security $suite-security main" >> "$run/etc/apt/sources.list"
  while read -r instruction arguments; do
    case $instruction in
      RUN) inside "$arguments" ;;
      COPY) mkdir -p "$run${arguments##* }" && (cd "$context" && cp ${arguments% *} "$run${arguments##* }") ;;
      ENV) environment=$arguments user=player ;;
    esac
  done < "$containerfile"
  [ -z "$user" ] || check="su $user -s /bin/bash -c 'env $environment compiler-gym doctor'"
  inside "$check"
  say "the container works"
  exit
fi

# The same for the server of OpenEnv. The base has the Python of Debian 13, which gets the names and
# the place of that in python:3.12-slim. The server has a network of its own, without the internet.
if [ -n "$recipe" ]; then
  inside "$python -m venv /usr/local"
  while read -r instruction arguments; do
    case $instruction in
      WORKDIR) folder=$arguments && mkdir -p "$run$folder" ;;
      COPY) cp -r "$(dirname "$recipe")"/. "$wheels"/compiler_gym*manylinux*.whl "$run$folder" ;;
      RUN) inside "cd ${folder:-/} && PATH=/usr/local/bin:\$PATH && $arguments" ;;
      USER) user=$arguments ;;
      HEALTHCHECK) health=${arguments#*CMD } ;;
      CMD) server=$(python3 -c 'import json, shlex, sys; print(shlex.join(json.loads(sys.argv[1])))' "$arguments") ;;
    esac
  done < <(sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join' -e '}' "$recipe")
  cat > "$run$folder/play.py" <<'END'
from compiler_gym.openenv import CompilerAction, CompilerEnvClient

with CompilerEnvClient(base_url="http://127.0.0.1:8000").sync() as env:
    print(env.reset(split="test", index=5).observation.text)
    env.step(CompilerAction(tool="apply_passes", passes=["sroa", "early-cse", "simplifycfg"]))
    result = env.step(CompilerAction(tool="submit"))
    print(result.observation.text)
    assert result.done and result.reward > 0 and result.observation.metadata == {"verified": True}
END
  cat > "$run/root/serve.sh" <<END
su - $user -c 'cd $folder && exec $server' &
for _ in {1..60}; do
  sleep 1
  su - $user -c '$health' && break
done
su - $user -c 'cd $folder && id && python play.py && $health'
status=\$?
kill \$!
exit \$status
END
  say "$server; $health; play.py"
  env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --net bash -c "ip link set lo up && chroot $run bash /root/serve.sh"
  say "the server of OpenEnv works"
  exit
fi

# What tools/sysroot.sh unpacks for tests has an LLVM.
[ -z "$emulated" ] || inside "rm -r /usr/lib/llvm-*"
inside "grep PRETTY /etc/os-release; ldd --version | head -n 1; $python --version; ! command -v cc clang gcc"
inside "$python -m venv venv"
inside "pip install --quiet --find-links /wheels compiler_gym"
inside "python3 ten_lines.py"
inside "compiler-gym doctor"
inside "compiler-gym search sha256 --seconds 10"
inside "! compiler-gym optimize sha256.c -o sha256.o"
inside "pip install --quiet --find-links /wheels 'compiler_gym[clang,mlir]'"
inside "clang=\$(python3 -c 'from compiler_gym.util import llvm_tools; print(llvm_tools.clang_path())') && \$clang --version"
inside "compiler-gym doctor"
inside "compiler-gym optimize sha256.c --evaluations 20 -o sha256.o --check 'clang {} -o sha256 && ./sha256'"
inside "compiler-gym optimize sha256.c --evaluations 5 -o sha256.o --objective linked"
inside "compiler-gym search ./scale.c --seconds 5"
inside "python3 results.py && compiler-gym validate results.csv"
[ -n "$emulated" ] || say "C++, whose library no Python package has, fails with the command that installs it"
inside "! compiler-gym optimize words.cc -o words.o"
if [ -n "${SB3:-}" ]; then
  inside "pip install --quiet --find-links /wheels 'compiler_gym[sb3]'"
  inside "python3 ppo.py"
fi
if [ -n "$emulated" ]; then
  sed -i '1i export PATH=/root/venv/bin:$PATH TERM=dumb' "$run/root/steps.sh"
  tools/emulate_arm64.sh --copy "$run/root:/root" --copy "$run/wheels:/wheels" bash /root/steps.sh
fi
say "$suite: everything works"
