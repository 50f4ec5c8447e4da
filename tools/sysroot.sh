#!/usr/bin/env bash
# Makes .sysroot-arm64, a folder with packages of Debian for 64-bit Arm, of the release that runs here:
#
#   tools/sysroot.sh && bazel build --config=arm64 //:wheel
#
# It has the libraries for --config=arm64, and what tools/emulate_arm64.sh boots. The files are unpacked,
# no script of a package runs, and this system's own list of packages is not touched. dpkg knows which
# package a file is of: dpkg --root=.sysroot-arm64 --search. Running it again when nothing is missing
# takes a moment and changes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/progress.sh

arch=arm64
llvm_version=${LLVM_VERSION:-22}
root=$PWD/.sysroot-$arch
packages=(
  "clang-$llvm_version" "libclang-rt-$llvm_version-dev" "libmlir-$llvm_version-dev"
  "libpolly-$llvm_version-dev" "lld-$llvm_version" "llvm-$llvm_version-dev"
  libbenchmark-dev libboost-filesystem-dev libc6-dev libgflags-dev libgmock-dev libgoogle-glog-dev
  libgrpc++-dev libgtest-dev libprotobuf-dev libssl-dev "libstdc++-$(gcc -dumpversion)-dev" libunwind-dev
  libzstd-dev
)
# What is emulated: a kernel, a shell, and Python.
packages+=(
  bash busybox-static coreutils dash diffutils findutils grep libc-bin linux-image-cloud-arm64 "llvm-$llvm_version"
  python3 python3-venv sed util-linux
)

fail() { echo "sysroot: $*" >&2; exit 1; }
command -v apt-get > /dev/null || fail "this script unpacks Debian packages, and there is no apt-get here"

apt() {
  apt-get -q -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o Acquire::Languages=none \
    -o "Dir::State=$work/state" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache" \
    -o Debug::NoLocking=1 "$@"
}

download() {
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
  : > "$work/status"
  apt update
  apt install --download-only --yes --no-install-recommends "${packages[@]}"
}

# Unpacks a package, and notes its name and its files where dpkg looks for them.
unpack() {
  local package=$1 database=$new/var/lib/dpkg name
  dpkg-deb --extract "$package" "$new"
  name=$(dpkg-deb --field "$package" Package)
  # dpkg asks for the processor in names of packages that several processors may have at once.
  [ "$(dpkg-deb --field "$package" Multi-Arch)" != same ] || name+=:$arch
  # The list names the folder above all as "/.".
  dpkg-deb --fsys-tarfile "$package" | tar --list | sed -e 's:^\.::' -e 's:/$::' -e 's:^$:/.:' \
    > "$database/info/$name.list"
  {
    dpkg-deb --field "$package" Package Version Architecture Multi-Arch Maintainer
    printf 'Status: install ok unpacked\nDescription: unpacked for the build\n\n'
  } >> "$database/status"
}

unpack_all() {
  local package link
  mkdir -p "$new/var/lib/dpkg/info" "$new/var/lib/dpkg/updates"
  echo 1 > "$new/var/lib/dpkg/info/format"
  for package in "$work"/cache/archives/*.deb; do unpack "$package"; done
  # Otherwise they lead to files of this system.
  find "$new" -type l -lname '/*' | while read -r link; do
    ln -sfnr "$new$(readlink "$link")" "$link"
  done
  printf '%s\n' "${packages[@]}" > "$new/packages"
}

! cmp -s <(printf '%s\n' "${packages[@]}") "$root/packages" || exit 0
work=$(mktemp -d)
new=$root.new
trap 'rm -rf "$work" "$new"' EXIT
rm -rf "$new"
with_progress "sysroot: Debian packages for $arch" download || fail "the packages could not be downloaded"
with_progress "sysroot: unpacking" unpack_all || fail "the packages could not be unpacked"
rm -rf "$root"
mv "$new" "$root"
echo "sysroot: $root"
