// Decides when to poll for the next request instead of sleeping until it comes.
#pragma once

#include <chrono>
#include <functional>

namespace compiler_gym::runtime {

// To wake a sleeping process takes longer than a short step, and a client that makes short steps
// sends the next one soon. So the receiver polls for a while, if requests have lately come within
// such a while. It yields the processor between any two looks, and stops for some time when that
// shows that others need it.
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
