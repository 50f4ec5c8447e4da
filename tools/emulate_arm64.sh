#!/usr/bin/env bash
# Runs a command on an emulated machine with a 64-bit Arm processor:
#
#   tools/emulate_arm64.sh [--copy SOURCE:PLACE]... COMMAND...
#   tools/emulate_arm64.sh --copy bazel-bin/tests/util/LargePagesTest:/root/LargePagesTest /root/LargePagesTest
#
# qemu emulates the whole machine, and boots Debian's kernel on a copy of what tools/sysroot.sh unpacks.
# To emulate programs alone (qemu-user) is not enough: it lacks the system calls that copy processes
# of a service and those that confine compilers.
#
# The command runs as root in /root, without a network, and sees the copied files and folders at their places.
# The exit code is its own. It needs qemu-system-arm, cpio, kmod and e2fsprogs. Variables: CPUS (2),
# MEMORY in MB (6000), ROOM for new files in MB (2000), TIMEOUT in seconds (3600).
set -euo pipefail
fail() { echo "emulate_arm64: $*" >&2; exit 1; }
sysroot=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.sysroot-arm64
[ -e "$sysroot/packages" ] || fail "there is no $sysroot; run tools/sysroot.sh"
for program in qemu-system-aarch64 cpio depmod mke2fs; do
  PATH=$PATH:/usr/sbin:/sbin command -v $program > /dev/null ||
    fail "$program is missing: apt-get install qemu-system-arm cpio kmod e2fsprogs"
done
PATH=$PATH:/usr/sbin:/sbin
copies=()
while [ "${1:-}" = --copy ]; do copies+=("${2:?}"); shift 2; done
[ $# -gt 0 ] || fail "usage: tools/emulate_arm64.sh [--copy SOURCE:PLACE]... COMMAND..."

# On the same file system, so that files need no copy.
work=$(mktemp -d "$sysroot.XXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

make_root() {
  local copy
  cp -al "$sysroot" "$root"
  # Only the build needs them, and a bare system has none.
  cat "$root"/var/lib/dpkg/info/*-dev*.list | (cd "$root" && sed 's:^/::' | xargs -d '\n' rm -f 2> /dev/null) || true
  rm -rf "$root"/{usr/share/doc,var/lib/dpkg,etc/passwd,etc/group,etc/hosts}
  echo root:x:0:0:root:/root:/bin/bash > "$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' > "$root/etc/group"
  printf '127.0.0.1 localhost\n' > "$root/etc/hosts"
  mkdir -p "$root"/{proc,sys,dev,tmp,run,root}
  for copy in "${copies[@]}"; do
    mkdir -p "$(dirname "$root${copy#*:}")"
    # A file of the sysroot and its copy are one, and only the copy may change.
    cp -rLT --remove-destination "${copy%%:*}" "$root${copy#*:}"
  done
  cat > "$root/start" << EOF
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
busybox mount -t devpts devpts /dev/pts
busybox mount -t tmpfs shm /dev/shm
busybox mount -t tmpfs tmp /tmp
ln -sfn /proc/self/fd /dev/fd
ln -sfn fd/0 /dev/stdin
ln -sfn fd/1 /dev/stdout
ln -sfn fd/2 /dev/stderr
busybox ip link set lo up
# As with systemd: the kernel's own limit is lower.
ulimit -n 524288
stty -onlcr
cd /root
$(printf '%q ' "$@")
echo "emulate_arm64: exit code \$?"
sync
busybox poweroff -f
EOF
  chmod +x "$root/start"
}

# Prints the modules for the disk, each after those that it needs.
modules() {
  local name line
  for name in virtio_pci virtio_blk; do
    line=$(grep "/$name\.ko:" "$work"/root/lib/modules/*/modules.dep)
    printf '%s\n' ${line#*:} | tac
    echo "${line%%:*}"
  done | awk '!seen[$0]++'
}

make_initramfs() {
  local files=$work/initramfs folder
  folder=$(echo "$root"/lib/modules/*)
  depmod -b "$root" "${folder##*/}"
  mkdir -p "$files"/{bin,dev,proc,modules,root}
  cp "$root/bin/busybox" "$files/bin/"
  ln -s busybox "$files/bin/sh"
  {
    echo '#!/bin/sh'
    echo 'busybox mount -t devtmpfs none /dev'
    modules | while read -r module; do
      cp "$folder/$module" "$files/modules/"
      echo "busybox insmod /modules/${module##*/}"
    done
    echo 'until [ -b /dev/vda ]; do busybox sleep 0.1; done'
    echo 'busybox mount -t ext4 /dev/vda /root && exec busybox switch_root /root /start'
  } > "$files/init"
  chmod +x "$files/init"
  (cd "$files" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/initramfs.gz"
}

make_root "$@"
make_initramfs
mke2fs -qq -t ext4 -O ^has_journal -d "$root" "$work/image" \
  "$(($(du -sm "$root" | cut -f1) * 12 / 10 + ${ROOM:-2000}))M" > /dev/null
timeout "${TIMEOUT:-3600}" qemu-system-aarch64 -M virt -cpu cortex-a72 -smp "${CPUS:-2}" \
  -m "${MEMORY:-6000}" -display none -no-reboot -monitor none -serial stdio -nic none \
  -kernel "$root"/boot/vmlinuz-* -initrd "$work/initramfs.gz" \
  -append "console=ttyAMA0 quiet loglevel=3 panic=-1" \
  -drive "file=$work/image,if=virtio,format=raw,cache=unsafe" < /dev/null | tee "$work/log" |
  sed '/^emulate_arm64: exit code/,$d'
code=$(sed -n 's/^emulate_arm64: exit code \([0-9]*\).*/\1/p' "$work/log" | tail -n 1)
[ -n "$code" ] || fail "the machine ended before the command"
exit "$code"
