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

// Copies one process. Thread-safe.
class SessionCopies {
 public:
  // An order for a copy, see make().
  class Order;

  explicit SessionCopies(SessionProcess& original) : original_(original) {}

  // Copies the process in its present state, or after its current request. A spare of this state is
  // used if there is one. Otherwise the copy is made when `order` is destroyed, preferably after
  // the reply to the client, because making it takes a processor. Waiting is not necessary: the
  // original makes the copy before it serves another request. Requests to the copy are answered
  // once it exists, or fail if it cannot be made.
  grpc::Status make(Deadline deadline, std::shared_ptr<SessionProcess>* copy,
                    std::unique_ptr<Order>* order);
  // True if the last make() copied a state that had been copied before.
  bool isRepeated() const { return isRepeated_; }
  // Makes the copy for the next make() in advance, unless the process is working, and waits briefly
  // for it. See Spares.
  void makeSpare();
  // Ends the spare. Returns false if a request is running, so that it must be called again later.
  [[nodiscard]] bool dropSpare();

 private:
  // The copy's own ends of sockets.
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
