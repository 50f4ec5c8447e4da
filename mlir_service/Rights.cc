#include "mlir_service/Rights.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler_gym/util/SystemCallFilter.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

// What memory, clocks, and the end of a process take, whether by itself or by a signal.
constexpr int kAllowed[] = {
    SYS_brk,          SYS_clock_gettime, SYS_exit,         SYS_exit_group,
    SYS_futex,        SYS_getpid,        SYS_getrandom,    SYS_gettid,
    SYS_gettimeofday, SYS_madvise,       SYS_mmap,         SYS_mprotect,
    SYS_mremap,       SYS_munmap,        SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_sched_yield,   SYS_tgkill,       SYS_write,
};

constexpr uint32_t kNoFile = ~uint32_t{0};

Status failure(const std::string& what) {
  return {StatusCode::FAILED_PRECONDITION,
          "Kernels do not run without confinement, and this system cannot " + what + ": " +
              std::generic_category().message(errno)};
}

/// The beginnings and ends of all memory that other processes have, too (proc_pid_maps(5)).
std::vector<std::pair<uintptr_t, uintptr_t>> sharedMemory() {
  std::vector<std::pair<uintptr_t, uintptr_t>> shared;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char isShared = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*3c%c", &begin, &end, &isShared) == 3 &&
        isShared == 's') {
      shared.emplace_back(begin, end);
    }
  }
  return shared;
}

}  // namespace

Status giveUpRights(int output) {
  for (const auto& [begin, end] : sharedMemory()) {
    if (munmap(reinterpret_cast<void*>(begin), end - begin) != 0) {
      return failure("take shared memory away");
    }
  }
  util::SystemCallFilter filter;
  filter.denyOtherValues(SYS_write, 0, static_cast<uint32_t>(output));
  // Shared memory does not count as that of the process.
  filter.denyBits(SYS_mmap, 3, MAP_SHARED);
  filter.denyOtherValues(SYS_mmap, 4, kNoFile);
  filter.denyOtherValues(SYS_tgkill, 0, static_cast<uint32_t>(getpid()));
  for (const int call : kAllowed) filter.allow(call);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !filter.installAndDenyOthers(EPERM)) {
    return failure("filter system calls");
  }
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
