#include "tests/service/runtime/DirectClient.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "tests/service/runtime/ToyClient.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

Deadline soon() { return Clock::now() + std::chrono::seconds(100); }

std::string directSocketOf(int port) {
  const auto stub = CompilerGymService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  GetSpacesReply reply;
  if (!stub->GetSpaces(&context, GetSpacesRequest(), &reply).ok()) return "";
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kDirectSocketKey);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

Channel connectTo(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) return Channel();
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return Channel();
  }
  return Channel(std::move(socket));
}

Status callWithSocket(Channel& channel, Method method, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* reply, Channel* session) {
  RETURN_IF_ERROR(channel.send(static_cast<uint16_t>(method), request.SerializeAsString(), soon()));
  Frame frame;
  RETURN_IF_ERROR(channel.receive(&frame, soon()));
  if (frame.code != 0) return Status(static_cast<StatusCode>(frame.code), frame.payload);
  if (frame.descriptors.size() != 1) {
    return Status(
        StatusCode::INTERNAL,
        "The reply came with " + std::to_string(frame.descriptors.size()) + " descriptors");
  }
  *session = Channel(std::move(frame.descriptors[0]));
  return parseMessage(frame.payload, reply);
}

StepRequest stepOf(int64_t session, const std::vector<int64_t>& actions) {
  StepRequest request;
  request.set_session_id(static_cast<uint64_t>(session));
  for (const int64_t action : actions) request.add_action()->set_int64_value(action);
  request.add_observation_space(toy::kText);
  return request;
}

std::string headerOf(uint32_t size, uint16_t code, uint64_t timeout) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + 4, &code, sizeof(code));
  std::memcpy(bytes.data() + 8, &timeout, sizeof(timeout));
  return bytes;
}

bool sendBytes(const Channel& channel, const std::string& bytes) {
  return ::send(channel.socket().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace compiler_gym::runtime
