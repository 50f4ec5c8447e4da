#include "llvm_service/confine/Seccomp.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace compiler_gym::confine {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "expected x86-64 or AArch64; add the AUDIT_ARCH_ constant of this machine"
#endif

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
    SYS_fchmodat,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
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

constexpr uint32_t error(int number) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(number) & SECCOMP_RET_DATA);
}

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    // The numbers of the x32 interface.
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    add(BPF_RET | BPF_K, error(ENOSYS));
#endif
  }

  void deny(int call, int number) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
    add(BPF_RET | BPF_K, error(number));
  }

  // Denies a call by the low half of one of its arguments: where `test` holds, or where it does
  // not.
  void denyIf(int call, int argument, uint16_t test, uint32_t value, bool holds) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
    load(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(argument));
    add(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, holds ? 0 : 1, holds ? 1 : 0);
    add(BPF_RET | BPF_K, error(EPERM));
    load(offsetof(seccomp_data, nr));
  }

  bool install() {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program = {size_, code_};
    // Without this flag, old kernels slow the program down against Spectre.
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &program) == 0 ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

  void add(uint16_t code, uint32_t value, uint8_t ifTrue = 0, uint8_t ifFalse = 0) {
    code_[size_++] = {code, ifTrue, ifFalse, value};
  }

  sock_filter code_[256] = {};
  uint16_t size_ = 0;
};

}  // namespace

bool hasSeccomp() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool installSeccomp(bool hasNetwork, bool isShared) {
  Filter filter;
  for (const int call : kDenied) filter.deny(call, EPERM);
  for (const int call : kAbsent) filter.deny(call, ENOSYS);
  if (isShared) {
    for (const int call : kAttributes) filter.deny(call, EPERM);
  }
  // Sockets of other programs have names in the file system as well.
  if (!hasNetwork) filter.deny(SYS_socket, EACCES);
  filter.denyIf(SYS_clone, 0, BPF_JSET, kNamespaceFlags, true);
  filter.denyIf(SYS_prlimit64, 0, BPF_JEQ, 0, false);   // Limits of other processes.
  filter.denyIf(SYS_ioctl, 1, BPF_JEQ, TIOCSTI, true);  // Input for the terminal.
  filter.denyIf(SYS_ioctl, 1, BPF_JEQ, 0x541c /* TIOCLINUX */, true);
  return filter.install();
}

}  // namespace compiler_gym::confine
