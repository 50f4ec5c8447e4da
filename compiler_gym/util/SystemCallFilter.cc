#include "compiler_gym/util/SystemCallFilter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace compiler_gym::util {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "expected x86-64 or AArch64; add the AUDIT_ARCH_ constant of this machine"
#endif

constexpr uint32_t failure(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error) & SECCOMP_RET_DATA);
}

// Where the low half of an argument is.
size_t offsetOf(int argument) {
  return offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(argument);
}

}  // namespace

SystemCallFilter::SystemCallFilter() {
  load(offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
  // The numbers of the x32 interface.
  add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  add(BPF_RET | BPF_K, failure(ENOSYS));
#endif
}

void SystemCallFilter::deny(int call, int error) {
  add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
  add(BPF_RET | BPF_K, failure(error));
}

void SystemCallFilter::denyBits(int call, int argument, uint32_t bits) {
  denyIf(call, offsetOf(argument), BPF_JSET, bits, true);
}

void SystemCallFilter::denyValue(int call, int argument, uint32_t value) {
  denyIf(call, offsetOf(argument), BPF_JEQ, value, true);
}

void SystemCallFilter::denyOtherValues(int call, int argument, uint32_t value) {
  denyIf(call, offsetOf(argument), BPF_JEQ, value, false);
}

void SystemCallFilter::denyUnlessNull(int call, int argument) {
  const size_t low = offsetOf(argument);
  denyIf(call, low, BPF_JEQ, 0, false);
  denyIf(call, low + sizeof(uint32_t), BPF_JEQ, 0, false);
}

void SystemCallFilter::allow(int call) {
  add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

bool SystemCallFilter::installAndAllowOthers() { return install(SECCOMP_RET_ALLOW); }

bool SystemCallFilter::installAndDenyOthers(int error) { return install(failure(error)); }

void SystemCallFilter::denyIf(int call, size_t offset, uint16_t test, uint32_t value, bool holds) {
  add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
  load(offset);
  add(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, holds ? 0 : 1, holds ? 1 : 0);
  add(BPF_RET | BPF_K, failure(EPERM));
  load(offsetof(seccomp_data, nr));
}

bool SystemCallFilter::install(uint32_t otherwise) {
  add(BPF_RET | BPF_K, otherwise);
  const sock_fprog program = {size_, code_};
  // Without this flag, old kernels slow the program down against Spectre.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
             0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

void SystemCallFilter::load(size_t offset) {
  add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

void SystemCallFilter::add(uint16_t code, uint32_t value, uint8_t ifTrue, uint8_t ifFalse) {
  code_[size_++] = {code, ifTrue, ifFalse, value};
}

}  // namespace compiler_gym::util
