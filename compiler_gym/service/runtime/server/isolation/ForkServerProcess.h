// The process that all workers are forked from.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"

namespace compiler_gym::runtime {

// The service's handle of the fork server.
//
// The fork server is a process with a single thread and with the compiler initialised, so that a
// worker is ready as soon as it is forked. All workers are its children, also those that are copies
// of others. It reports their ends, and kills commands that they leave behind. When the process of
// the service is gone, for whatever reason, it kills them all, removes what the service has left in
// its working directory, and ends.
//
// With `limits.isForeground` it forks nothing: a session is in the process that the user has
// started, where a debugger finds it, and start() returns in a child of that, which becomes the
// service.
//
// All methods may be called from any number of threads.
class ForkServerProcess {
 public:
  // Forks the fork server. Call it before any thread is started. `removeDirectory` is what is to be
  // done when the service died without an end of its own. Fails with what the construction of a
  // session fails with.
  static grpc::Status start(const SessionFactory& makeSession,
                            const boost::filesystem::path& workingDirectory, const Limits& limits,
                            std::function<void()> removeDirectory,
                            std::unique_ptr<ForkServerProcess>* forkServer);

  // Calls stop().
  ~ForkServerProcess();

  // Ends all workers and waits until they and the fork server are gone. Requests at work fail.
  void stop();

  const ServiceDescription& description() const { return description_; }
  int pid() const { return pid_; }

  // Starts a worker with this control socket and record. RESOURCE_EXHAUSTED if there is no room to
  // send them, UNAVAILABLE if the fork server has ended.
  grpc::Status spawn(int control, int record);

  // Returns how the worker `pid` has ended. Waits for its end.
  std::optional<Death> waitForDeath(int pid, std::chrono::milliseconds limit);
  // Grows when processes that start from now on are quicker than those before.
  uint64_t generation() const { return generation_; }
  // True if the fork server was killed, and all workers with it.
  bool hasEnded();
  // Forgets the end of an earlier process with the number of a new one.
  void forgetDeath(int pid);

  // The memory that a worker may have, in bytes; 0 means no limit.
  uint64_t sessionMemoryBytes() const { return limits_.sessionMemoryBytes; }

  // Callback, in another thread, for an unexpected end of the fork server.
  void onEnd(std::function<void()> callback);

 private:
  ForkServerProcess(int pid, Channel channel, ServiceDescription description, const Limits& limits);

  void watch();
  void noteDeath(const Death& death);

  const int pid_;
  const ServiceDescription description_;
  const Limits limits_;
  Channel channel_;
  std::mutex sendMutex_;
  std::atomic<uint64_t> generation_{0};

  std::mutex mutex_;
  std::function<void()> onEnd_;
  std::condition_variable died_;
  // The latest ends, oldest first.
  std::deque<Death> deaths_;
  bool isStopping_ = false;
  bool hasEnded_ = false;
  std::thread watcher_;
};

}  // namespace compiler_gym::runtime
