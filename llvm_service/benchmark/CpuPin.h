#pragma once

#include <sched.h>

namespace compiler_gym::llvm_service {

/// Keeps this thread, and the processes that it starts, on one processor for its life: the last of
/// those that the thread may use. Where that is not allowed, it does nothing.
class CpuPin {
 public:
  /// @param enabled whether to do anything at all.
  explicit CpuPin(bool enabled);
  ~CpuPin();
  CpuPin(const CpuPin&) = delete;
  CpuPin& operator=(const CpuPin&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace compiler_gym::llvm_service
