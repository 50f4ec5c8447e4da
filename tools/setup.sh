#!/usr/bin/env bash
# Installs what the project needs and this machine lacks, and nothing else:
#   - Debian packages, as root or through sudo;
#   - Python packages, in the virtual environment .venv of this repository.
# Running it again when nothing is missing takes a moment and changes nothing.
#
#   tools/setup.sh             what the build, the tests and the documents need
#   tools/setup.sh --program   only what the program compiler-gym and its environments of LLVM need
#   tools/setup.sh --packages  only the Debian packages
#   tools/setup.sh --list      prints the names of the Debian packages, and installs nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/progress.sh

# The interpreter of the virtual environment. Another one: PYTHON=python3.12 tools/setup.sh
python=${PYTHON:-python3}
# Another one, e.g. for bazel --config=llvm19: LLVM_VERSION=19 tools/setup.sh
llvm_version=${LLVM_VERSION:-22}
packages=(
  bazel-bootstrap bazel-platforms bazel-rules-cc bazel-rules-java bazel-rules-proto bazel-skylib
  "clang-$llvm_version" "lld-$llvm_version" "llvm-$llvm_version" "llvm-$llvm_version-dev"
  "libpolly-$llvm_version-dev" libzstd-dev
  file g++ git libboost-filesystem-dev libgflags-dev libgoogle-glog-dev
  libgrpc++-dev libprotobuf-dev libssl-dev pkg-config protobuf-compiler protobuf-compiler-grpc
  python3 python3-venv
)
more_packages=(
  clang-format-22 cmake csmith libbenchmark-dev "libclang-rt-$llvm_version-dev" libcsmith-dev
  libgmock-dev libgtest-dev "llvm-$llvm_version-tools" make openssl
)
# For tests of code for aarch64.
more_packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstdc++6-arm64-cross qemu-user)
# For tests of build systems.
more_packages+=(ccache meson ninja-build sccache)
# For tests of the explorer's page.
more_packages+=(chromium)
# For mlir-v0, which older ones are left out of.
[ "$llvm_version" -lt 22 ] || more_packages+=("libmlir-$llvm_version-dev" "mlir-$llvm_version-tools")

requirements=(third_party/runtime_requirements.txt)
all_requirements=("${requirements[@]}" third_party/requirements.txt)
mode=${1:-}
case $mode in
  --program) ;;
  "" | --packages | --list) packages+=("${more_packages[@]}") requirements=("${all_requirements[@]}") ;;
  *) echo "setup: expected --program, --packages, --list or no argument, got '$mode'" >&2; exit 2 ;;
esac
[ "$mode" != --list ] || { printf '%s\n' "${packages[@]}"; exit; }

say() { printf '\033[1m%s\033[0m\n' "setup: $*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# Installs packages as $root. Debian may configure the certificates of Java before Java itself, which
# fails; a second attempt finds Java ready.
apt_install() {
  local install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
    --no-install-recommends -o APT::Status-Fd=1 -o Dpkg::Use-Pty=0)
  "${install[@]}" "$@" || { "${root[@]}" dpkg --configure -a && "${install[@]}" "$@"; }
}

install_packages() {
  command -v apt-get >/dev/null || fail "this script installs Debian packages, and there is no apt-get here. You can
  - use the wheels, which need no build: docs/start/install.md;
  - build and test in a container: docker build -t compiler_gym-dev -f .devcontainer/Containerfile . (or podman), or
    open the folder in an editor that knows development containers;
  - install what 'tools/setup.sh --list' prints, under the names of your system, and build with Bazel 4.2 or 7.7."
  local missing root=()
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "run it as root, or install sudo; missing: ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  with_progress "setup: list of packages" "${root[@]}" apt-get update -q -o Dpkg::Use-Pty=0 ||
    fail "apt-get update failed: is the network up?"
  with_progress "setup: Debian packages" apt_install "${missing[@]}" ||
    fail "apt-get install failed; the lines above say why"
  # Bazel looks for libraries, such as MLIR, when its server starts.
  ! command -v bazel >/dev/null || bazel shutdown >/dev/null 2>&1 || true
}

# Installs with uv, which loads and compiles several packages at once. It has no settings of pip's but
# the index; where that is not enough, pip itself installs.
python_packages() {
  local pip=(.venv/bin/python3 -m pip --disable-pip-version-check) index
  index=$("${pip[@]}" config get global.index-url 2>/dev/null) || index=${PIP_INDEX_URL:-}
  "${pip[@]}" install --requirement=third_party/installer_requirements.txt
  env ${index:+UV_DEFAULT_INDEX="$index"} UV_SYSTEM_CERTS=1 UV_NO_CACHE=1 .venv/bin/uv pip install \
    --compile-bytecode --python=.venv/bin/python3 "$@" || "${pip[@]}" install "$@"
}

install_python_packages() {
  local stamp=.venv/requirements.txt
  if [ -x .venv/bin/python3 ]; then
    cmp -s <(cat "${requirements[@]}") "$stamp" && return 0
    # All packages are enough for the program.
    cmp -s <(cat "${all_requirements[@]}") "$stamp" && return 0
  fi
  # Users need 3.10, but some of these packages need 3.11.
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "expected Python 3.11 or newer, got $("$python" --version); try PYTHON=python3.11 tools/setup.sh"
  [ -x .venv/bin/python3 ] || "$python" -m venv .venv
  with_progress "setup: Python packages in .venv" python_packages "${requirements[@]/#/--requirement=}"
  cat "${requirements[@]}" > "$stamp"
}

# Bazel 7 may empty a source, compiler_gym/__init__.py: where it uses the folder of a former test
# again, it writes an empty file through a link (seen with 7.7.1). Bazel 4 does not know the option.
protect_sources() {
  local option="build --noreuse_sandbox_directories" settings=.bazelrc.user
  [[ $(bazel --version 2>/dev/null) =~ ^bazel\ ([0-9]+) ]] && ((BASH_REMATCH[1] >= 7)) || return 0
  grep -qxF -- "$option" "$settings" 2>/dev/null || echo "$option" >> "$settings"
}

install_packages
protect_sources
[ "$mode" = --packages ] || install_python_packages
say "everything is installed"
