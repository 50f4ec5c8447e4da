// Ends a worker from within.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

namespace compiler_gym::runtime {

// Ends this process when a request exceeds its time limit or the memory limit, or when its client
// is gone. It works by a signal, so an endless loop in a compiler does not stop it. There is at
// most one in a process. It writes the reason to the record.
class Watchdog {
 public:
  // Limits the memory of the process; 0 means no limit. There is no limit under a sanitizer.
  explicit Watchdog(uint64_t memoryBytes);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Uses this record and these sockets from now on; -1 for one that there is not. Called in each
  // process anew: a copy has none of the timers of its original.
  void watch(WorkerRecord* record, int controlSocket, int directSocket);

  // Sets the time limit of the request that begins; 0 means no limit.
  void arm(std::chrono::microseconds timeout);
  void disarm();

 private:
  static void onTimer(int signal);
  [[noreturn]] static void onOutOfMemory();
  void look();
  void schedule();
  [[noreturn]] void endProcess(EndReason reason, uint64_t limit);

  const uint64_t memoryBytes_;
  WorkerRecord* record_ = nullptr;
  int controlSocket_ = -1;
  int directSocket_ = -1;
  std::chrono::microseconds timeout_{0};
  Deadline deadline_;
  // The time when the timer fires. It is left running from request to request, as setting it takes
  // longer than many a request.
  std::atomic<Deadline> timerEnd_{Deadline::max()};
  // A signal may be under way when the request is done.
  volatile std::sig_atomic_t isArmed_ = 0;
};

}  // namespace compiler_gym::runtime
