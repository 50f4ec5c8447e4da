#include "compiler_gym/service/runtime/worker/Polling.h"

#include <sched.h>

#include <algorithm>

#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

using std::chrono::microseconds;

namespace {

// Longer polling costs more processor time than the wake-up that it saves, about 40 us.
constexpr microseconds kMaxWait(120);
// A check that takes this long was interrupted by another process that needs the processor.
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
  // Limits the weight of one long pause of the client.
  const auto counted = std::min<std::chrono::nanoseconds>(wait, 4 * kMaxWait);
  expectedWait_ += (counted - expectedWait_) / 4;
}

}  // namespace compiler_gym::runtime
