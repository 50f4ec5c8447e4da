#!/usr/bin/env bash
# Installs wheels on a bare system that has Python and nothing else, and uses them there:
#
#   tools/test_install.sh trixie              # Debian 13; also bookworm, or noble with MIRROR=...
#
# The system is made by debootstrap in a folder of its own, which takes root. It has no compiler,
# and no header of C. Every command is printed before it runs, so the output is the record.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=${1:?usage: tools/test_install.sh SUITE, e.g. trixie}
mirror=${MIRROR:-$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* | head -1 | tr -d ' ')}
# Kept for the next time: bare systems by their suites.
base=${BASES:-/var/tmp/compiler_gym-bases}/$suite

say() { printf '\n\033[1m%s\033[0m\n' "test_install: $*"; }
[ "$(id -u)" = 0 ] || { echo "test_install: expected root, which debootstrap and chroot need" >&2; exit 1; }

if [ ! -e "$base.made" ]; then
  say "making $suite from $mirror"
  mkdir -p "$(dirname "$base")"
  rm -rf --one-file-system "$base"
  debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv \
    "$suite" "$base" "$mirror" > "$base.log" || { tail "$base.log"; exit 1; }
  touch "$base.made"
fi

run=$(mktemp -d /var/tmp/compiler_gym-install.XXXX)
clean_up() {
  for name in dev/shm dev proc; do umount -l "$run/$name" 2>/dev/null || true; done
  rm -rf --one-file-system "$run"
}
trap clean_up EXIT
cp -a "$base/." "$run/"
for name in proc dev dev/shm; do mkdir -p "$run/$name" && mount --bind "/$name" "$run/$name"; done
# How this machine reaches the package index.
cp -rL /etc/ssl/certs/. "$run/etc/ssl/certs/"
cp /etc/resolv.conf /etc/hosts "$run/etc/"
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
  [ ! -e "$file" ] || install -D "$file" "$run$file"
done
mkdir "$run/wheels"
cp bazel-bin/compiler_gym*.whl "$run/wheels/"
cp compiler_gym/data/kernels-v0/sha256/program.c "$run/root/sha256.c"
# The ten lines of the README.
awk '/^```python/ { inside = 1; next } /^```/ { if (inside) exit } inside' README.md > "$run/root/ten_lines.py"

mapfile -t settings < <(env | grep -E '^(PIP_|SSL_CERT|REQUESTS_CA|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy)' || true)
inside() {
  say "$ $*"
  env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/root/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${settings:+"${settings[@]}"} chroot "$run" /bin/bash -c "cd /root && $*"
}

inside "python3 --version && grep PRETTY /etc/os-release && ! command -v cc clang gcc"
inside "python3 -m venv venv"
inside "pip install --quiet --find-links /wheels compiler_gym"
inside "python3 ten_lines.py"
inside "compiler-gym doctor"
inside "compiler-gym search sha256 --seconds 10"
inside "pip install --quiet --find-links /wheels 'compiler_gym[clang,mlir]'"
inside "compiler-gym doctor"
say "headers and startup files of C, which clang needs and no Python package has"
inside "apt-get update -qq && apt-get install -qq -y --no-install-recommends gcc libc6-dev > /dev/null"
inside "compiler-gym doctor"
inside "compiler-gym optimize sha256.c --evaluations 20 -o sha256.o"
say "$suite: everything works"
