#pragma once

#include <sched.h>

namespace compiler_gym::llvm_service {

/// Keeps this thread, and the processes that it starts, on one processor for its lifetime: the last
/// that the thread may use. Does nothing if the system forbids it.
class CpuPin {
 public:
  /// @param enabled false to do nothing.
  explicit CpuPin(bool enabled);
  ~CpuPin();
  CpuPin(const CpuPin&) = delete;
  CpuPin& operator=(const CpuPin&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace compiler_gym::llvm_service
