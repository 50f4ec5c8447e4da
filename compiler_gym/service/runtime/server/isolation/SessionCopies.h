// Copies of a session process.
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

class SessionProcess;

// Copies one process. Methods may be called from any number of threads.
class SessionCopies {
 public:
  // A copy that is to be made, see make().
  class Order;

  explicit SessionCopies(SessionProcess& original) : original_(original) {}

  // Copies the process as it is now, or when it has finished what it is at. If there is a spare of
  // its present state, that is the copy. Otherwise the copy is made when `order` is destroyed, best
  // after the client was told, because making it takes a processor. Nobody need wait for it: the
  // original makes it before it serves another request, and what the copy is asked is answered once
  // it is there, or fails if it cannot be made.
  grpc::Status make(Deadline deadline, std::shared_ptr<SessionProcess>* copy,
                    std::unique_ptr<Order>* order);
  // True if the last make() copied a state that had been copied before.
  bool isRepeated() const { return isRepeated_; }
  // Makes the copy of the next make(), unless the process is at work, and waits for it a moment, so
  // that make() need not find out about it. See Spares.
  void makeSpare();
  // Ends the spare. False if a request is at work, so that it has to be done later.
  [[nodiscard]] bool dropSpare();

 private:
  // The ends of sockets that are for the copy itself.
  struct Sockets {
    util::FileDescriptor control;
    util::FileDescriptor direct;
  };

  // These expect the caller to hold the mutex of the original.
  bool hasSpare();
  grpc::Status order(std::shared_ptr<SessionProcess>* copy, Sockets* sockets);
  void send(const SessionProcess& copy, const Sockets& sockets);
  std::shared_ptr<SessionProcess> orderSpare();

  SessionProcess& original_;
  std::shared_ptr<SessionProcess> spare_;
  std::optional<uint64_t> copiedState_;
  std::atomic<bool> isRepeated_ = false;
};

// Requests of other threads wait until it is destroyed.
class SessionCopies::Order {
 public:
  Order(std::shared_ptr<SessionProcess> original, std::unique_lock<std::timed_mutex> guard,
        std::shared_ptr<const SessionProcess> copy, Sockets sockets);
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

 private:
  const std::shared_ptr<SessionProcess> original_;
  const std::unique_lock<std::timed_mutex> guard_;
  const std::shared_ptr<const SessionProcess> copy_;
  const Sockets sockets_;
};

}  // namespace compiler_gym::runtime
