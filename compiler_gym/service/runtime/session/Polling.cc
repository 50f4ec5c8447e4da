#include "compiler_gym/service/runtime/session/Polling.h"

#include <sched.h>

#include <algorithm>

#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

using std::chrono::microseconds;

namespace {

// Longer waits cost more processor time than the wake-up that is saved, which takes about 40 us.
constexpr microseconds kMaxWait(120);
// A look that takes this long was interrupted by somebody who needs the processor.
constexpr microseconds kContendedLook(50);
constexpr int kRest = 64;

}  // namespace

bool Polling::waitFor(const std::function<bool()>& isThere) {
  if (expectedWait_ > kMaxWait) return false;
  if (restingRequests_ > 0) {
    --restingRequests_;
    return false;
  }
  const Deadline begin = Clock::now();
  for (Deadline look = begin; look - begin < kMaxWait;) {
    if (isThere()) return true;
    sched_yield();
    const Deadline next = Clock::now();
    if (next - look > kContendedLook) {
      restingRequests_ = kRest;
      return false;
    }
    look = next;
  }
  return false;
}

void Polling::noteWait(std::chrono::nanoseconds wait) {
  // One long pause of the client must not count for more than a few short ones.
  const auto counted = std::min<std::chrono::nanoseconds>(wait, 4 * kMaxWait);
  expectedWait_ += (counted - expectedWait_) / 4;
}

}  // namespace compiler_gym::runtime
