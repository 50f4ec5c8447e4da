#include "compiler_gym/service/runtime/Handover.h"

#include <utility>

#include "compiler_gym/service/runtime/Channel.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

Handover::~Handover() {
  order_.reset();
  if (process_) process_->attach(server_);
}

grpc::Status Handover::prepare(std::shared_ptr<SessionProcess> process) {
  client_ = process->takeClientSocket();
  if (client_.isOpen()) return grpc::Status::OK;
  RETURN_IF_ERROR(Channel::pair(&client_, &server_));
  process_ = std::move(process);
  return grpc::Status::OK;
}

}  // namespace compiler_gym::runtime
