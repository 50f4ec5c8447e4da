#include "compiler_gym/service/runtime/forkserver/CompilerDescription.h"

#include <chrono>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;

bool sendDescription(const SessionFactory& makeSession,
                     const boost::filesystem::path& workingDirectory, Channel& service,
                     ServiceDescription* description) {
  const auto send = [&service](const Status& status, const google::protobuf::MessageLite& reply) {
    return sendReply(service, status, reply, Clock::now() + std::chrono::seconds(10)).ok();
  };
  const Status status = util::callWithoutExceptions("starting the service", [&] {
    *description = ServiceDescription(*makeSession(workingDirectory));
    return Status::OK;
  });
  return send(status, description->version()) && status.ok() &&
         send(Status::OK, description->spaces());
}

}  // namespace compiler_gym::runtime
