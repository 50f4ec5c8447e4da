#include "llvm_service/benchmark/CpuPin.h"

namespace compiler_gym::llvm_service {

CpuPin::CpuPin(bool enabled) {
  if (!enabled || sched_getaffinity(0, sizeof(before_), &before_) != 0) {
    return;
  }
  // Avoids the first processor, which usually serves interrupts.
  int last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &before_)) {
    --last;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  pinned_ = sched_setaffinity(0, sizeof(one), &one) == 0;
}

CpuPin::~CpuPin() {
  if (pinned_) {
    sched_setaffinity(0, sizeof(before_), &before_);
  }
}

}  // namespace compiler_gym::llvm_service
