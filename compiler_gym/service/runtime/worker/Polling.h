// Decides whether to poll or to sleep until the next request.
#pragma once

#include <chrono>
#include <functional>

namespace compiler_gym::runtime {

// Waking a sleeping process takes longer than a short step, and a client with short steps sends the
// next one soon. So the receiver polls for a short time, if recent requests arrived within that
// time. It yields the processor between polls, and pauses polling when other processes need the
// processor.
class Polling {
 public:
  // Returns true as soon as `isThere` does. False if it is better to sleep.
  bool waitFor(const std::function<bool()>& isThere);

  // The waiting time for the request, asleep or polling.
  void noteWait(std::chrono::nanoseconds wait);

 private:
  // A moving average.
  std::chrono::nanoseconds expectedWait_{0};
  // Number of requests for which not to poll.
  int restingRequests_ = 0;
};

}  // namespace compiler_gym::runtime
