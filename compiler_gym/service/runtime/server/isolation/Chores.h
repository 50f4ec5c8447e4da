// A background thread for work that can wait a moment.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// Does work that nobody waits for, in a thread of its own and a moment after it was asked for: a
// client that is about to get a reply needs the processors first. May be used by any number of
// threads.
class Chores {
 public:
  Chores();
  // Waits for the chore that has begun, and destroys the others.
  ~Chores();

  // `chore` does not throw.
  void add(std::function<void()> chore);

 private:
  void work();
  void wakeAt(Deadline time) const;

  // Not a condition variable: that would wake the thread to tell it how long to sleep, and it would
  // take a processor at the moment when the client and the service need both.
  const util::FileDescriptor timer_;
  std::mutex mutex_;
  std::deque<std::pair<Deadline, std::function<void()>>> chores_;
  bool isStopping_ = false;
  std::thread thread_;
};

}  // namespace compiler_gym::runtime
