#!/usr/bin/env bash
# Installs what the project needs and this machine lacks, and nothing else:
#   - Debian packages, as root or through sudo;
#   - Python packages, in the virtual environment .venv of this repository.
# Running it again when nothing is missing takes a moment and changes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The interpreter of the virtual environment. Another one: PYTHON=python3.12 tools/setup.sh
python=${PYTHON:-python3}
# Another one, e.g. for bazel --config=llvm19: LLVM_VERSION=19 tools/setup.sh
llvm_version=${LLVM_VERSION:-22}
packages=(
  bazel-bootstrap bazel-platforms bazel-rules-cc bazel-rules-java bazel-rules-proto bazel-skylib
  "clang-$llvm_version" clang-format-22 "libclang-rt-$llvm_version-dev"
  "lld-$llvm_version" "llvm-$llvm_version" "llvm-$llvm_version-dev" "llvm-$llvm_version-tools"
  "libpolly-$llvm_version-dev" libzstd-dev
  cmake csmith libcsmith-dev file git make pkg-config
  g++ libbenchmark-dev libboost-filesystem-dev libgflags-dev libgmock-dev libgoogle-glog-dev
  libgrpc++-dev libgtest-dev libprotobuf-dev libssl-dev protobuf-compiler protobuf-compiler-grpc
  openssl python3 python3-venv
)
# For tests of code for aarch64.
packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstdc++6-arm64-cross qemu-user)
# For tests of the explorer's page.
packages+=(chromium)
# For mlir-v0, which older ones are left out of.
[ "$llvm_version" -lt 22 ] || packages+=("libmlir-$llvm_version-dev" "mlir-$llvm_version-tools")

say() { printf '\033[1m%s\033[0m\n' "setup: $*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

install_packages() {
  command -v apt-get >/dev/null || fail "this script installs Debian packages, and there is no apt-get here"
  local missing root=()
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "run it as root, or install sudo; missing: ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  "${root[@]}" apt-get update -q -o Dpkg::Use-Pty=0 || fail "apt-get update failed: is the network up?"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" || fail "apt-get install failed; the lines above say why"
}

install_python_packages() {
  local requirements=third_party/requirements.txt stamp=.venv/requirements.txt
  cmp -s "$requirements" "$stamp" && [ -x .venv/bin/python3 ] && return 0
  # Users need 3.10, but packages of $requirements need 3.11.
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "expected Python 3.11 or newer, got $("$python" --version); try PYTHON=python3.11 tools/setup.sh"
  say "making the virtual environment .venv with the packages of $requirements"
  [ -x .venv/bin/python3 ] || "$python" -m venv .venv
  .venv/bin/python3 -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$stamp"
}

install_packages
install_python_packages
say "everything is installed"
