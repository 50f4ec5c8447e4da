// A background thread for deferred work.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// Does deferred work in a thread of its own, after a short delay: a client that is about to get a
// reply needs the processors first. Thread-safe.
class DeferredWork {
 public:
  DeferredWork();
  // Waits for the running task, and drops the others.
  ~DeferredWork();

  // `task` must not throw.
  void add(std::function<void()> task);

 private:
  void work();
  void wakeAt(Deadline time) const;

  // Not a condition variable: that would wake the thread to tell it how long to sleep, and it would
  // take a processor at the moment when the client and the service need both.
  const util::FileDescriptor timer_;
  std::mutex mutex_;
  std::deque<std::pair<Deadline, std::function<void()>>> tasks_;
  bool isStopping_ = false;
  std::thread thread_;
};

}  // namespace compiler_gym::runtime
