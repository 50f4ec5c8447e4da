// What is left to do for a new session when its client has been told of it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "compiler_gym/service/runtime/SessionProcess.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// Gives a client of the direct channel the socket of its session. What takes the session's process
// is done when this is destroyed, to be done after the reply: a client that has to wait for a
// processor until that is over would wait longer than for all else.
class Handover {
 public:
  Handover() = default;
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // Makes the client's socket. RESOURCE_EXHAUSTED if there are too many open files.
  grpc::Status prepare(std::shared_ptr<SessionProcess> process);

  // For the reply. Not open unless prepare() was called.
  const util::FileDescriptor& client() const { return client_; }
  // If the session is a fork, where to put the order to make it.
  std::unique_ptr<SessionProcess::CopyOrder>* order() { return &order_; }

 private:
  std::unique_ptr<SessionProcess::CopyOrder> order_;
  std::shared_ptr<SessionProcess> process_;
  util::FileDescriptor client_;
  util::FileDescriptor server_;
};

}  // namespace compiler_gym::runtime
