#include "llvm_service/confine/Seccomp.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "compiler_gym/util/SystemCallFilter.h"

namespace compiler_gym::confine {

namespace {

// Numbers are the same on all machines; older headers lack some.
constexpr int kClone3 = 435;
constexpr int kMemfdSecret = 447;

// Other processes, mounts, the kernel itself, and memory that outlives a process or is not counted.
constexpr int kDenied[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    467 /* open_tree_attr */,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_shmget,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    SYS_memfd_create,
    kMemfdSecret,
#ifdef __x86_64__
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};

// Programs try another way when these do not exist.
constexpr int kAbsent[] = {kClone3, 425 /* io_uring_setup */, 426, 427};

// Changes of files that Landlock does not refuse.
constexpr int kAttributes[] = {
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    452 /* fchmodat2 */,
    463 /* setxattrat */,
    466 /* removexattrat */,
#ifdef __x86_64__
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};

constexpr uint32_t kNamespaceFlags = 0x7e020000;  // CLONE_NEW* of clone(2).

}  // namespace

bool hasSeccomp() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool installSeccomp(bool hasNetwork, bool isShared) {
  util::SystemCallFilter filter;
  for (const int call : kDenied) filter.deny(call, EPERM);
  for (const int call : kAbsent) filter.deny(call, ENOSYS);
  if (isShared) {
    for (const int call : kAttributes) filter.deny(call, EPERM);
    // The times of a file by its name. Those of an open file are for touch(1).
    filter.denyUnlessNull(SYS_utimensat, 1);
  }
  // Sockets of other programs have names in the file system as well.
  if (!hasNetwork) filter.deny(SYS_socket, EACCES);
  filter.denyBits(SYS_clone, 0, kNamespaceFlags);
  filter.denyOtherValues(SYS_prlimit64, 0, 0);  // Limits of other processes.
  filter.denyValue(SYS_ioctl, 1, TIOCSTI);      // Input for the terminal.
  filter.denyValue(SYS_ioctl, 1, 0x541c /* TIOCLINUX */);
  return filter.installAndAllowOthers();
}

}  // namespace compiler_gym::confine
