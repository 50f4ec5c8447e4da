// Copies of a worker.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

class Worker;

// Copies one process. Thread-safe.
class WorkerCopies {
 public:
  // A copy that is made when this is destroyed, see make().
  class PendingCopy;

  explicit WorkerCopies(Worker& original) : original_(original) {}

  // Copies the process in its present state, or after its current request. A spare of this state is
  // used if there is one. Otherwise the copy is made when `order` is destroyed, preferably after
  // the reply to the client, because making it takes a processor. Waiting is not necessary: the
  // original makes the copy before it serves another request. Requests to the copy are answered
  // once it exists, or fail if it cannot be made.
  grpc::Status make(Deadline deadline, std::shared_ptr<Worker>* copy,
                    std::unique_ptr<PendingCopy>* order);
  // True if the last make() copied a state that had been copied before.
  bool isRepeated() const { return isRepeated_; }
  // Makes the copy for the next make() in advance, unless the process is working, and waits briefly
  // for it. See SpareWorkers.
  void makeSpare();
  // Ends the spare. Returns false if a request is running, so that it must be called again later.
  [[nodiscard]] bool dropSpare();

 private:
  // The copy's own ends of sockets.
  struct Sockets {
    util::FileDescriptor control;
    util::FileDescriptor direct;
  };

  // The following three expect the caller to hold the mutex of the original.
  // True if there is a living spare of the present state.
  bool hasSpare();
  // Prepares the record and the sockets of a copy.
  grpc::Status order(std::shared_ptr<Worker>* copy, Sockets* sockets);
  // Sends them to the original, which then makes the copy.
  void send(const Worker& copy, const Sockets& sockets);
  // Orders a spare and returns it; null if none is needed or possible now.
  std::shared_ptr<Worker> orderSpare();

  Worker& original_;
  std::shared_ptr<Worker> spare_;
  std::optional<uint64_t> copiedState_;
  std::atomic<bool> isRepeated_ = false;
};

// Requests of other threads wait until it is destroyed.
class WorkerCopies::PendingCopy {
 public:
  PendingCopy(std::shared_ptr<Worker> original, std::unique_lock<std::timed_mutex> guard,
              std::shared_ptr<const Worker> copy, Sockets sockets);
  ~PendingCopy();
  PendingCopy(const PendingCopy&) = delete;
  PendingCopy& operator=(const PendingCopy&) = delete;

 private:
  const std::shared_ptr<Worker> original_;
  const std::unique_lock<std::timed_mutex> guard_;
  const std::shared_ptr<const Worker> copy_;
  const Sockets sockets_;
};

}  // namespace compiler_gym::runtime
